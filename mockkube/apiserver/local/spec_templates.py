"""Specs by their JSON: the objects of a workload share one decoded spec, but for what differs between them.

Two texts differ: the name of the node, and the name of the volume with the service account's token. Each is a hole of
a template; an object copies what is around its holes, and nothing else of its spec is decoded or kept twice.
"""

from collections.abc import Mapping
from sys import intern
from typing import Any, Final, NamedTuple

import orjson

from mockkube.api.json_objects import Object

# Templates, and texts seen once, after which all are forgotten; what is still common is soon known again.
TEMPLATES_MAX: Final = 512
_SEEN_MAX: Final = 4096
_TEMPLATE_BYTES_MAX: Final = 8 * 1024
_SPEC: Final = b',"spec":{'
_STATUS: Final = b',"status":{'
_MANAGED_FIELDS: Final = b',"managedFields":['
_END_OF_MANAGED_FIELDS: Final = b'}]},"'
_NODE: Final = b'"nodeName":"'
_TOKEN_VOLUME: Final = b'"kube-api-access-'
_BACKSLASH: Final = "\\"
_HOLE: Final = b"\0"  # no JSON has one
_NODE_HOLE: Final = 0
_TOKEN_HOLE: Final = 1

Holes = Mapping[Any, Any]
"""Keys and indexes on the way to each hole; the hole itself is a number."""


class _Template(NamedTuple):
    spec: Object
    holes: Holes

    def fill(self, values: tuple[str, str]) -> Object:
        """Return the spec with these values in its holes."""
        spec: Object = _fill(self.spec, self.holes, values) if self.holes else self.spec
        return spec


class SpecTemplates:
    """Decoded specs of one kind; a spec that was seen twice is known."""

    def __init__(self) -> None:
        self._templates: dict[bytes, _Template] = {}
        self._seen: set[int] = set()

    def decode(self, body: bytes) -> Object | None:  # hot: every larger object that a component reads
        """Return the object without its managedFields; None if its spec is not known, or it is not so easily split.

        The parts of the JSON are decoded one by one. A quote within a text has a backslash before it, so a name with
        its quotes is a key. If it is the key of an inner object, a part is no valid JSON.
        """
        spec_at, status_at = body.find(_SPEC), body.rfind(_STATUS)
        if not 0 < spec_at < status_at:
            return None
        text = body[spec_at + len(_SPEC) - 1 : status_at]
        key, values = _cut_holes(text)
        if _BACKSLASH in values[_NODE_HOLE] or _BACKSLASH in values[_TOKEN_HOLE]:
            return None  # an escaped character
        template = self._templates.get(key)
        if template is None:
            self._learn(key, text, values)
            return None
        head, managed_at = body[:spec_at], body.find(_MANAGED_FIELDS, 0, spec_at)
        if managed_at >= 0:
            if body.find(_END_OF_MANAGED_FIELDS, managed_at) != spec_at - 3:
                return None  # other fields are between metadata and spec
            head = head[:managed_at] + b"}"
        try:
            obj: Object = orjson.loads(head + b"}")
            status = orjson.loads(body[status_at + len(_STATUS) - 1 : -1])
        except orjson.JSONDecodeError:
            return None
        obj["spec"], obj["status"] = template.fill(values), status
        return obj

    def _learn(self, key: bytes, text: bytes, values: tuple[str, str]) -> None:
        """Make a template of a text that was seen before."""
        if len(key) > _TEMPLATE_BYTES_MAX:
            return
        digest = hash(key)
        if digest not in self._seen:
            if len(self._seen) >= _SEEN_MAX:
                self._seen.clear()
            self._seen.add(digest)
            return
        try:
            spec, expected = orjson.loads(key.replace(_HOLE, b"")), orjson.loads(text)
        except orjson.JSONDecodeError:
            return
        template = _Template(spec, _find_holes(spec, has_node=_NODE + _HOLE in key))
        # The name of a node may also stand elsewhere than at the top.
        if template.fill(values) == expected:
            if len(self._templates) >= TEMPLATES_MAX:
                self._templates.clear()
            self._templates[key] = template


def _cut_holes(text: bytes) -> tuple[bytes, tuple[str, str]]:
    """Return the text of a spec with holes, and what was in them."""
    node = token = b""
    if (at := text.find(_NODE) + len(_NODE)) >= len(_NODE):
        end = text.find(b'"', at)
        node, text = text[at:end], text[:at] + _HOLE + text[end:]
    if (at := text.find(_TOKEN_VOLUME)) >= 0:
        token = text[at : text.find(b'"', at + 1) + 1]
        text = text.replace(token, _TOKEN_VOLUME + _HOLE + b'"')
    return text, (intern(node.decode(errors="replace")), token[1:-1].decode(errors="replace"))


def _find_holes(spec: Object, *, has_node: bool) -> Holes:
    token_holes = _find_token_holes(spec) or {}
    return {"nodeName": _NODE_HOLE, **token_holes} if has_node else token_holes


def _find_token_holes(value: Any) -> Any:
    if isinstance(value, str):
        return _TOKEN_HOLE if value == _TOKEN_VOLUME[1:].decode() else None
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = ((key, _find_token_holes(one)) for key, one in items)
    return {key: holes for key, holes in found if holes is not None} or None


def _fill(value: Any, holes: Holes, values: tuple[str, str]) -> Any:
    copy = value.copy()
    for key, inner in holes.items():
        copy[key] = values[inner] if inner.__class__ is int else _fill(value[key], inner, values)
    return copy
