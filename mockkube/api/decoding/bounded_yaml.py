"""Load YAML of files and templates, whose nesting and aliases are bounded.

The C loader recurses: 20,000 brackets end the process. `yaml_documents.py` reads bodies of requests.
"""

import re
from typing import Any, Final

import yaml

from mockkube.api.decoding.documents import ALIASED_MAX

# Less than Python's recursion limit, which the readers of documents have.
DEPTH_MAX: Final = 250
SAFE_LOADER: Final[type[Any]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Loader in C if PyYAML has it: eight times as fast."""

_BRACKETS: Final = re.compile(r"[\[\]{}]")
_DASHES: Final = re.compile(r"^[ ]*((?:[-?:][ \t]+)+)", re.MULTILINE)
_INDENTATION: Final = re.compile(r"^[ ]+", re.MULTILINE)
_ALIAS: Final = re.compile(r"(?:^|[\s\[{,])\*[^\s*]", re.MULTILINE)


def load(text: str | bytes, loader: type[Any] = SAFE_LOADER) -> Any:
    """Return the value of the only document; raise YAMLError for other texts, and for values of unreasonable depth."""
    _check(text)
    return yaml.load(text, Loader=loader)


def load_all(text: str | bytes, loader: type[Any] = SAFE_LOADER) -> list[Any]:
    """Return the values of all documents; raise YAMLError as `load` does."""
    _check(text)
    return list(yaml.load_all(text, Loader=loader))


def _check(text: str | bytes) -> None:
    # Parsing a text twice takes half as long again, so texts that cannot be deep are not.
    plain = text.decode("latin-1") if isinstance(text, bytes) else text
    if ("*" in plain and _ALIAS.search(plain)) or _bound_depth(plain) > DEPTH_MAX:
        _check_events(text)


def _bound_depth(text: str) -> int:
    """Return a depth that no value of the text exceeds."""
    indentation = max(map(len, _INDENTATION.findall(text)), default=0)
    dashes = max((len(run) for run in _DASHES.findall(text)), default=0)
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        # Brackets in texts may close what none has opened.
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return indentation + dashes + deepest + 1


def _check_events(text: str | bytes) -> None:
    total = aliased = 0
    opened: list[tuple[str | None, int]] = []
    sizes: dict[str, int] = {}
    for event in yaml.parse(text, Loader=SAFE_LOADER):
        if isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in opened):
                raise _make_error("a value contains itself", event)
            size = sizes.get(str(event.anchor), 1)
            total, aliased = total + size, aliased + size
            if aliased > ALIASED_MAX:
                raise _make_error("excessive aliasing", event)
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, total))
            total += 1
            if len(opened) > DEPTH_MAX:
                raise _make_error(f"nested more than {DEPTH_MAX} levels deep", event)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.ScalarEvent):
            total += 1


def _make_error(problem: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
