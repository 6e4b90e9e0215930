"""Write mockkube/api/data/gotypes.json: what the JSON schemas leave out about each field of each type.

Run it in a bare or full clone of kubernetes/kubernetes: `python tools/gotypes.py REPOSITORY`. It reads the
struct declarations of the supported releases, newest first, and keeps facts only: the order of the fields,
their Go type as error messages name it, whether an empty value is written, and the protobuf number.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

RELEASES = ("release-1.37", "release-1.36", "release-1.35", "release-1.34", "release-1.33")
ROOTS = {
    "staging/src/k8s.io/api/": "",
    "staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/": "meta/v1",
    "staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/": "apiextensions/v1",
    "staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/": "apiregistration/v1",
}
STRUCT = re.compile(r"^type (\w+) struct \{(.*?)^\}", re.M | re.S)
NAMED = re.compile(r"^type (\w+)(?:\s*=)?\s+((?:\[\]|map\[\w+\])?[\w.*\[\]]+)\s*(?://.*)?$", re.M)
FIELD = re.compile(r"^\s+(?:(\w+)\s+)?([*\w.\[\]]+)\s+`([^`]*)`", re.M)


def show(repository: str, spec: str) -> str:
    """The text of a file, or the listing of a folder, at a release."""
    return subprocess.run(["git", "show", spec], cwd=repository, capture_output=True, text=True, check=True).stdout


def files(repository: str, release: str) -> list[tuple[str, str]]:
    """Pairs of group/version and path of every file that declares API types."""
    listing = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", release, "--", *ROOTS], cwd=repository, capture_output=True, text=True
    ).stdout.split()
    found = []
    for path in listing:
        root = next(root for root in ROOTS if path.startswith(root))
        name = path.rpartition("/")[2]
        if re.fullmatch(r"(\w*types\w*|micro_time|time|duration|group_version)\.go", name) and "_test" not in name:
            package = ROOTS[root] or "/".join(path[len(root) :].split("/")[:2])
            if path[len(root) :].count("/") <= 2 and "testapigroup" not in package:
                found.append((package, path))
    return found


def fields(body: str) -> list[list[object]]:
    """Rows of name, Go type, how an empty value is written, protobuf number; an inlined type has no name."""
    rows: list[list[object]] = []
    for _, go_type, tags in FIELD.findall(re.sub(r"//.*", "", body)):
        tag = re.search(r'json:"([^"]*)"', tags)
        if tag is None or tag[1] == "-":
            continue
        name, *options = tag[1].split(",")
        number = re.search(r'protobuf:"\w+,(\d+)', tags)
        empty = "zero" if "omitzero" in options else "omit" if "omitempty" in options else ""
        rows.append([name if "inline" not in options else "", go_type, empty, int(number[1]) if number else 0])
    return rows


def _flatten(facts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the facts by package and name in one."""
    return {f"{package}.{name}": fact for package, named in facts.items() for name, fact in named.items()}


def _format(name: str, fact: Any) -> str:
    return f"{json.dumps(name)}: {json.dumps(fact, separators=(',', ':'))}"


def main() -> None:
    """Collect the facts and write them."""
    structs: dict[str, Any] = {}
    names: dict[str, Any] = {}
    for release in RELEASES:
        for package, path in files(sys.argv[1], release):
            text = show(sys.argv[1], f"{release}:{path}")
            for name, body in STRUCT.findall(text):
                known = structs.setdefault(package, {}).setdefault(name, fields(body))
                have = {row[0] or row[1] for row in known}
                known += [row for row in fields(body) if (row[0] or row[1]) not in have]
            for name, target in NAMED.findall(text):
                if target not in ("struct", "interface"):
                    names.setdefault(package, {}).setdefault(name, target)
    out = Path(__file__).parents[1] / "mockkube/api/data/gotypes.json"
    table = {**_flatten(names), **_flatten(structs)}
    # A line for each type: changes can be read, and a type without the others.
    out.write_text("{\n" + ",\n".join(_format(name, table[name]) for name in sorted(table)) + "\n}\n")


if __name__ == "__main__":
    main()
