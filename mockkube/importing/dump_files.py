"""Objects of dumps: files and directories as kubectl and etcdctl write them.

Lists of kubectl are split at the indentation of their items, so that a dump of any size is parsed item by item.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from mockkube.api.decoding import bounded_yaml
from mockkube.api.decoding.bounded_yaml import SAFE_LOADER
from mockkube.api.json_objects import Object
from mockkube.importing.errors import UnreadableDumpError
from mockkube.importing.etcd_database import is_etcd_database
from mockkube.importing.etcd_dump import is_etcd_dump, read_etcd_dump, read_etcd_snapshot
from mockkube.importing.kubectl_yaml import parse_kubectl_yaml

STDIN: Final = "-"
_REASON_MAX: Final = 200
_REMEDY: Final = "give what 'kubectl get -A -o yaml' writes, complete"
SUFFIXES: Final = (".json", ".yaml", ".yml", ".db")
# Logs of containers in the output of `kubectl cluster-info dump`.
_LOGS: Final = re.compile(rb"^==== START logs .*?^==== END logs [^\n]*\n", re.M | re.S)
_JSON_ITEMS: Final = b'\n    "items": [\n'
_YAML_ITEMS: Final = re.compile(rb"^items:\n(?=- )", re.M)
_YAML_END: Final = re.compile(rb"^(?![- #\n])", re.M)
_ANCHOR: Final = re.compile(rb"^[^'\"#\n]*(?:: |- )&\w", re.M)
_DOCUMENT_START: Final = re.compile(rb"^---(?:[ \t].*)?$", re.M)


class _Loader(SAFE_LOADER):  # type: ignore[misc]  # the C loader is optional
    """Loader that keeps times as text, as Kubernetes does."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_dump(path: str) -> Iterator[Object]:
    """Yield the objects of a file, of all dumps in a directory, or of standard input (`-`).

    Raises UnreadableDumpError, with the name of the file.
    """
    for file in _find_files(path):
        try:
            content = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
        except OSError as error:
            raise UnreadableDumpError(f"{file}: {error.strerror}: give a readable file or directory") from None
        yield from parse_dump(content, file)


def _find_files(path: str) -> list[str]:
    if path == STDIN or not Path(path).is_dir():
        return [path]
    return [str(file) for file in sorted(Path(path).rglob("*")) if file.suffix in SUFFIXES and file.is_file()]


def parse_dump(content: bytes, file: str) -> Iterator[Object]:
    """Yield the objects of a dump's content."""
    if is_etcd_database(content):
        yield from read_etcd_snapshot(content, file)
        return
    try:
        for document in _parse_documents(content):
            yield from _expand(document, file)
    except yaml.YAMLError as error:
        reason = _describe_yaml_error(content) or " ".join(str(error).split())[:_REASON_MAX]
        raise UnreadableDumpError(f"{file}: {reason}: {_REMEDY}") from None
    except (RecursionError, ValueError) as error:
        reason = " ".join(str(error).split())[:_REASON_MAX] or type(error).__name__
        raise UnreadableDumpError(f"{file}: neither JSON nor YAML of objects: {reason}: {_REMEDY}") from None


def _describe_yaml_error(content: bytes) -> str:
    """Return the line of the first mistake, counted in the whole file; dumps are parsed in parts."""
    try:
        for _ in yaml.parse(content, Loader=SAFE_LOADER):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark is not None else ""
        return f"{line}neither JSON nor YAML of objects: {error.problem or error.context}"
    except yaml.YAMLError:
        pass
    return ""


def _parse_documents(content: bytes) -> Iterator[Any]:
    start = content.lstrip()[:1]
    if start not in (b"{", b"[") and b"==== START logs" not in content[:1_000_000]:
        yield from _parse_yaml(content)
    elif is_etcd_dump(content):
        yield from read_etcd_dump(content)
    else:
        yield from _parse_json(content)


# JSON


def _parse_json(content: bytes) -> Iterator[Any]:
    """Yield the documents of JSON texts, one after the other; lists of kubectl item by item."""
    if b"==== START logs" in content:
        content = _LOGS.sub(b"", content)
    for text in _split_json_texts(content):
        items = text.find(_JSON_ITEMS)
        # Only the items of the list itself are indented by eight spaces: strings of JSON have no line breaks.
        if items > 0 and text.startswith(b"{\n    "):
            end = text.rfind(b"\n    ]")
            head = orjson.loads(text[:items] + b'\n    "items": []' + text[end + 6 :])
            for item in text[items + len(_JSON_ITEMS) : end].split(b"\n        },\n"):
                closed = item if item.endswith(b"\n        }") else item + b"}"
                yield {**head, "items": [orjson.loads(closed)]}
        else:
            yield orjson.loads(text)


def _split_json_texts(content: bytes) -> Iterator[bytes]:
    """Yield the JSON texts of a file; several end with a brace at the beginning of a line each."""
    begin = 0
    while True:
        end = content.find(b"\n}\n", begin)
        rest = content[end + 3 :].lstrip() if end >= 0 else b""
        if not rest.startswith(b"{"):
            if content[begin:].strip():
                yield content[begin:].strip()
            return
        yield content[begin : end + 2].strip()
        begin = end + 3


# YAML


def _parse_yaml(content: bytes) -> Iterator[Any]:
    for document in _split_yaml_documents(content):
        items = _YAML_ITEMS.search(document)
        # Aliases may refer to another item; kubectl writes none.
        if items is None or _ANCHOR.search(document):
            yield _parse_yaml_document(document)
            continue
        end = _YAML_END.search(document, items.end())
        stop = end.start() if end else len(document)
        head = bounded_yaml.load(document[: items.start()] + document[stop:], _Loader) or {}
        # Whatever belongs to an item is indented, so a dash at the beginning of a line begins the next one.
        for item in document[items.end() + 2 : stop].split(b"\n- "):
            yield {**head, "items": [_parse_yaml_document(b"  " + item)]}


def _split_yaml_documents(content: bytes) -> list[bytes]:
    # Block scalars are indented, so that three dashes at the beginning of a line separate documents.
    return [part for part in _DOCUMENT_START.split(content) if part.strip()]


def _parse_yaml_document(text: bytes) -> Any:
    parsed = parse_kubectl_yaml(text)
    return bounded_yaml.load(text, _Loader) if parsed is None else parsed


# Objects


def _expand(document: Any, file: str) -> Iterator[Object]:
    """Yield the object of a document, or the items of a list."""
    if document is None:
        return
    if isinstance(document, list):
        for one in document:
            yield from _expand(one, file)
        return
    if not isinstance(document, Mapping) or not isinstance(document.get("kind"), str):
        raise UnreadableDumpError(f"{file}: not a dump: each document needs apiVersion and kind: {_REMEDY}")
    if "items" in document and document["kind"].endswith("List"):
        # Items of a typed list, as cluster-info dump writes them, name neither.
        kind = document["kind"].removesuffix("List")
        type_meta = {"kind": kind, "apiVersion": document.get("apiVersion")} if kind else {}
        for item in document["items"] or ():
            yield from _expand({**type_meta, **item} if isinstance(item, Mapping) else item, file)
        return
    yield dict(document)
