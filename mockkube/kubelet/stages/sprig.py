"""Template functions of Masterminds' sprig for text, numbers, lists and maps; no random or environment functions.

differs: sprig has more; a stage whose template calls a missing function is rejected when it is parsed.
"""

import base64
import copy
import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from mockkube_cel.golang.goregexp import RegexError, compile_pattern

from mockkube.kubelet.stages.gotemplate_pipeline import Function, TemplateError, format_value


def _to_float(value: Any) -> float:
    try:
        return float(value or 0)
    except ValueError:
        return 0.0


def _to_integer(value: Any) -> int:
    return int(_to_float(value))


def _divide(one: Any, other: Any) -> int:
    if not _to_integer(other):
        raise TemplateError("division by zero")
    return int(_to_integer(one) / _to_integer(other))


def _modulo(one: Any, other: Any) -> int:
    if not _to_integer(other):
        raise TemplateError("division by zero")
    return int(math.fmod(_to_integer(one), _to_integer(other)))


def _make_dict(*pairs: Any) -> dict[str, Any]:
    return {str(pairs[at]): pairs[at + 1] if at + 1 < len(pairs) else "" for at in range(0, len(pairs), 2)}


def _indent(spaces: int, text: Any) -> str:
    return " " * spaces + format_value(text).replace("\n", "\n" + " " * spaces)


def _set(value: dict[str, Any], key: str, one: Any) -> dict[str, Any]:
    value[key] = one
    return value


def _unset(value: dict[str, Any], key: str) -> dict[str, Any]:
    value.pop(key, None)
    return value


def _merge(target: dict[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """Fill what is missing or empty in the first map with what the others have, also in nested maps."""
    for other in others:
        for key, value in other.items():
            if isinstance(value, Mapping) and isinstance(target.get(key), dict):
                _merge(target[key], value)
            elif not target.get(key):
                target[key] = copy.deepcopy(value)
    return target


def _matches(pattern: str, text: str) -> bool:
    """Return whether the text has a match; sprig takes an invalid pattern for one that never matches."""
    try:
        return compile_pattern(pattern).search(text) is not None
    except RegexError:
        return False


def _replace_matches(pattern: str, text: str, new: str) -> str:
    """Replace all matches; `$1` or `${1}` in the new text stands for the first group."""
    try:
        found = compile_pattern(pattern)
    except RegexError as error:
        raise TemplateError(str(error)) from None
    replaced: str = found.sub(re.sub(r"\$\{?(\d+)\}?", r"\\\1", new.replace("\\", r"\\")), text)
    return replaced


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value), None)


def _fail(message: str) -> str:
    raise TemplateError(message)


def _dig(*given: Any) -> Any:
    """Follow keys into a map: `dig "a" "b" default map`."""
    *keys, default, value = given
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return default
        value = value[key]
    return value


def _truncate(length: int, text: Any) -> str:
    return format_value(text)[:length] if length >= 0 else format_value(text)[length:]


_TEXT_FUNCTIONS: Final[Mapping[str, Function]] = {
    "b64dec": lambda text: base64.b64decode(text).decode(errors="replace"),
    "b64enc": lambda text: base64.b64encode(format_value(text).encode()).decode(),
    "cat": lambda *values: " ".join(format_value(value) for value in values if value is not None),
    "contains": lambda part, text: part in text,
    "hasPrefix": lambda part, text: text.startswith(part),
    "hasSuffix": lambda part, text: text.endswith(part),
    "indent": _indent,
    "join": lambda mark, values: mark.join(format_value(value) for value in values or ()),
    "lower": lambda text: text.lower(),
    "nindent": lambda spaces, text: "\n" + _indent(spaces, text),
    "quote": lambda *values: " ".join(json.dumps(format_value(value)) for value in values if value is not None),
    "regexMatch": _matches,
    "regexReplaceAll": _replace_matches,
    "repeat": lambda count, text: text * count,
    "replace": lambda old, new, text: text.replace(old, new),
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "split": lambda mark, text: {f"_{at}": part for at, part in enumerate(text.split(mark))},
    "splitList": lambda mark, text: text.split(mark),
    "squote": lambda *values: " ".join(f"'{format_value(value)}'" for value in values if value is not None),
    "substr": lambda start, end, text: text[max(start, 0) : end if end >= 0 else None],
    "title": lambda text: text.title(),
    "toString": lambda value: "" if value is None else format_value(value),
    "trim": lambda text: text.strip(),
    "trimAll": lambda marks, text: text.strip(marks),
    "trimPrefix": lambda part, text: text.removeprefix(part),
    "trimSuffix": lambda part, text: text.removesuffix(part),
    "trunc": _truncate,
    "upper": lambda text: text.upper(),
}
_NUMBER_FUNCTIONS: Final[Mapping[str, Function]] = {
    "add": lambda *values: sum(_to_integer(value) for value in values),
    "add1": lambda value: _to_integer(value) + 1,
    "atoi": _to_integer,
    "ceil": lambda value: math.ceil(_to_float(value)),
    "div": _divide,
    "float64": _to_float,
    "floor": lambda value: math.floor(_to_float(value)),
    "int": _to_integer,
    "int64": _to_integer,
    "max": lambda *values: max(_to_integer(value) for value in values),
    "min": lambda *values: min(_to_integer(value) for value in values),
    "mod": _modulo,
    "mul": lambda *values: math.prod(_to_integer(value) for value in values),
    "sub": lambda one, other: _to_integer(one) - _to_integer(other),
    "until": lambda count: list(range(count)),
}
_COLLECTION_FUNCTIONS: Final[Mapping[str, Function]] = {
    "append": lambda values, value: [*(values or ()), value],
    "compact": lambda values: [value for value in values or () if value],
    "concat": lambda *lists: [value for one in lists for value in one or ()],
    "dict": _make_dict,
    "dig": _dig,
    "first": lambda values: values[0] if values else None,
    "get": lambda value, key: (value or {}).get(key, ""),
    "has": lambda value, values: value in (values or ()),
    "hasKey": lambda value, key: key in (value or {}),
    "keys": lambda *maps: [key for one in maps for key in sorted(one or {})],
    "last": lambda values: values[-1] if values else None,
    "list": lambda *values: list(values),
    "merge": _merge,
    "omit": lambda value, *keys: {key: one for key, one in (value or {}).items() if key not in keys},
    "pick": lambda value, *keys: {key: one for key, one in (value or {}).items() if key in keys},
    "prepend": lambda values, value: [value, *(values or ())],
    "rest": lambda values: list(values or ())[1:],
    "reverse": lambda values: list(values or ())[::-1],
    "set": _set,
    "sortAlpha": lambda values: sorted(format_value(value) for value in values or ()),
    "uniq": lambda values: [value for at, value in enumerate(values or ()) if value not in values[:at]],
    "unset": _unset,
    "values": lambda *maps: [one[key] for one in maps for key in sorted(one or {})],
    "without": lambda values, *gone: [value for value in values or () if value not in gone],
}
# `default`, `empty` and `coalesce` use Python's truth, which agrees with Go's empty values for JSON types.
_LOGIC_FUNCTIONS: Final[Mapping[str, Function]] = {
    "coalesce": _coalesce,
    "default": lambda default, value=None: value or default,
    "empty": lambda value: not value,
    "fail": _fail,
    "fromJson": json.loads,
    "kindIs": lambda kind, value: kind == _kind_of(value),
    "kindOf": lambda value: _kind_of(value),
    "ternary": lambda yes, no, condition: yes if condition else no,
    "toJson": lambda value: json.dumps(value, separators=(",", ":"), sort_keys=True),
}


def _kind_of(value: Any) -> str:
    kinds = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int", float: "float64"}
    return kinds.get(type(value), "invalid")


SPRIG_FUNCTIONS: Final[Mapping[str, Function]] = {
    **_TEXT_FUNCTIONS,
    **_NUMBER_FUNCTIONS,
    **_COLLECTION_FUNCTIONS,
    **_LOGIC_FUNCTIONS,
}
