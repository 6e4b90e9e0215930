"""Parse a command line as the Go library pflag does, with its error texts."""

# upstream: github.com/spf13/pflag flag.go, errors.go
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final

from mockkube_cel.golang import gotime, strconv

from mockkube.features.errors import quote
from mockkube.lazy_dataclasses import dataclass

_INTEGER: Final = re.compile(r"[+-]?(0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0[bB][01_]+|[0-9][0-9_]*)")
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d*)?")
_DECIMAL: Final = re.compile(r"[-+]?[0-9]+")
_SEMANTIC_VERSION: Final = re.compile(r"v(\d+)\.(\d+)\.(\d+)(?![.\d])")
_PORT_MAX: Final = 65535
_INT64: Final = (-(1 << 63), (1 << 63) - 1)
_INT32: Final = (-(1 << 31), (1 << 31) - 1)


class CommandLineError(ValueError):
    """Command line that the program refuses; the text is pflag's."""


@dataclass(frozen=True, slots=True)
class Flag:
    """Flag of a program."""

    name: str
    # Type as help texts show it: see `_PARSERS`.
    type: str
    default: str
    # What it does here; empty if it has no effect.
    help: str
    # What is printed when it is given; empty unless it is deprecated.
    deprecation: str = ""


def parse_flags_table(text: str) -> tuple[Flag, ...]:
    """Return the flags of a table with a line per flag and tabs between its columns."""
    return tuple(Flag(*line.split("\t")) for line in text.splitlines() if line and not line.startswith("#"))


def parse_command_line(
    program: str, arguments: Sequence[str], flags: Sequence[Flag], shorthands: Mapping[str, str]
) -> dict[str, Any]:
    """Return the values of the flags that are given, by name; raise CommandLineError.

    Flags that may be repeated have a tuple, others their last value. `-v=1`, `--v=1` and `--v 1` mean the same.
    """
    by_name = {flag.name: flag for flag in flags}
    values: dict[str, Any] = {}
    positional: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            positional += rest
            break
        if not argument.startswith("-") or argument == "-":
            positional.append(argument)
            continue
        flag, shown, text = _find_flag(argument, by_name, shorthands)
        if text is None:
            # A boolean never takes the next argument, so `--flag false` sets it and leaves `false` over.
            if flag.type in ("bool", "version"):
                text = "true"
            elif rest:
                text = rest.pop(0)
            else:
                raise CommandLineError(f"flag needs an argument: {_shown_as_given(argument, flag)}")
        try:
            values[flag.name] = _PARSERS[flag.type](values.get(flag.name), text)
        except ValueError as error:
            raise CommandLineError(f"invalid argument {quote(text)} for {quote(shown)} flag: {error}") from None
    if positional and "help" not in values and values.get("version", False) is False:
        listed = " ".join(quote(one) for one in positional)
        raise CommandLineError(f"{quote(program)} does not take any arguments, got [{listed}]")
    return values


def list_deprecations(flags: Iterable[Flag], given: Collection[str]) -> list[str]:
    """Return the warnings about deprecated flags that are given."""
    deprecated = (flag for flag in flags if flag.deprecation and flag.name in given)
    return [f"Flag --{flag.name} has been deprecated, {flag.deprecation}" for flag in deprecated]


def format_flags(flags: Sequence[Flag], shorthands: Mapping[str, str]) -> str:
    """Return the help texts of flags, one per line, as pflag aligns them."""
    short = {name: letter for letter, name in shorthands.items()}
    heads = []
    for flag in flags:
        kind = "" if flag.type == "bool" else f" {flag.type}"
        lead = f"  -{short[flag.name]}, " if flag.name in short else "      "
        heads.append(f"{lead}--{flag.name}{kind}")
    width = max(map(len, heads)) + 3
    lines = []
    for head, flag in zip(heads, flags, strict=True):
        default = f" (default {flag.default})" if flag.default not in ("", "false", "0", "0s") else ""
        lines.append(f"{head:{width}}{flag.help or 'Accepted; has no effect here.'}{default}")
    return "\n".join(lines)


def _find_flag(
    argument: str, by_name: Mapping[str, Flag], shorthands: Mapping[str, str]
) -> tuple[Flag, str, str | None]:
    """Return the flag of an argument, its name as errors show it, and its value if the argument has one."""
    if not argument.startswith("--"):
        letter, rest = argument[1], argument[2:]
        if letter not in shorthands:
            raise CommandLineError(f"unknown shorthand flag: '{letter}' in {argument}")
        flag = by_name[shorthands[letter]]
        return flag, f"-{letter}, --{flag.name}", rest.removeprefix("=") if rest else None
    name, equals, text = argument[2:].partition("=")
    if not name or name.startswith("-"):
        raise CommandLineError(f"bad flag syntax: {argument}")
    name = name.replace("_", "-")  # upstream 1.36: component-base/cli/flag/flags.go, WordSepNormalizeFunc
    if name not in by_name:
        raise CommandLineError(f"unknown flag: --{name}")
    flag = by_name[name]
    letters = [letter for letter, of in shorthands.items() if of == name]
    shown = f"-{letters[0]}, --{name}" if letters else f"--{name}"
    return flag, shown, text if equals else None


def _shown_as_given(argument: str, flag: Flag) -> str:
    return f"--{flag.name}" if argument.startswith("--") else f"'{argument[1]}' in {argument}"


def _parse_bool(_: Any, text: str) -> bool:
    if text not in strconv.BOOLEANS:
        raise ValueError(f"strconv.ParseBool: parsing {quote(text)}: invalid syntax")
    return strconv.BOOLEANS[text]


def _parse_version(_: Any, text: str) -> str | bool:
    # upstream 1.36: component-base/version/verflag: `--version=vX.Y.Z` overrides the version that is reported
    if text.startswith("v"):
        if not _SEMANTIC_VERSION.match(text):
            raise ValueError(f"could not parse {quote(text)} as version")
        return text
    return "raw" if text == "raw" else _parse_bool(None, text)


def _make_integer_parser(bounds: tuple[int, int], function: str = "ParseInt") -> Callable[[Any, str], int]:
    def parse(_: Any, text: str) -> int:
        if not _INTEGER.fullmatch(text) or (function == "ParseUint" and text.startswith(("-", "+"))):
            raise ValueError(f"strconv.{function}: parsing {quote(text)}: invalid syntax")
        digits = text.replace("_", "")
        sign = -1 if digits.startswith("-") else 1
        unsigned = digits.lstrip("+-")
        # A leading zero means octal in Go.
        value = sign * (int(unsigned, 8) if re.fullmatch("0[0-7]+", unsigned) else int(unsigned, 0))
        if not bounds[0] <= value <= bounds[1]:
            raise ValueError(f"strconv.{function}: parsing {quote(text)}: value out of range")
        return value

    return parse


def _parse_float(_: Any, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"strconv.ParseFloat: parsing {quote(text)}: invalid syntax") from None


def _parse_duration(_: Any, text: str) -> float:
    span = gotime.parse_duration(text)
    if span is None:
        problem = "missing unit in" if _NUMBER.fullmatch(text) else "invalid"
        raise ValueError(f"time: {problem} duration {quote(text)}")
    return float(span.nanos / 1_000_000_000)


def _parse_ip(_: Any, text: str) -> str:
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        raise ValueError(f"failed to parse IP: {quote(text.strip())}") from None


def _parse_strings(before: tuple[str, ...] | None, text: str) -> tuple[str, ...]:
    import csv

    # pflag reads each value as a line of CSV.
    return (*(before or ()), *(next(csv.reader([text]), []) if text else ()))


def _parse_integers(before: tuple[int, ...] | None, text: str) -> tuple[int, ...]:
    parse = _make_integer_parser(_INT32)
    return (*(before or ()), *(parse(None, one) for one in text.split(",")))


def _parse_map(before: Mapping[str, str] | None, text: str) -> dict[str, str]:
    # upstream 1.36: component-base/cli/flag/configuration_map.go: a key without a value means true.
    pairs = (one.partition("=") for one in text.split(",") if one)
    return {**(before or {}), **{key.strip(): value.strip() if equals else "" for key, equals, value in pairs}}


def _parse_string_map(before: Mapping[str, str] | None, text: str) -> dict[str, str]:
    # pflag's string_to_string.go: with one equals sign, commas belong to the key or the value.
    pairs = [text.strip('"')] if text.count("=") == 1 else _parse_strings(None, text) or [text]
    values = dict(before or {})
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"{pair} must be formatted as key=value")
        values[key] = value
    return values


def _append_text(before: tuple[str, ...] | None, text: str) -> tuple[str, ...]:
    return (*(before or ()), text)


def _append_certificate(before: tuple[str, ...] | None, text: str) -> tuple[str, ...]:
    # upstream 1.36: component-base/cli/flag/namedcertkey_flag.go
    files, colon, names = text.partition(":")
    if colon and not names.strip():
        raise ValueError("empty names list is not allowed")
    if files.count(",") != 1:
        raise ValueError("expected comma separated certificate and key file paths")
    return _append_text(before, text)


def _parse_port_range(_: Any, text: str) -> range:
    # upstream 1.36: apimachinery/pkg/util/net/port_range.go
    value = text.strip()
    if not value:
        return range(0)
    signs = [sign for sign in "-+" if sign in value]
    if len(signs) > 1:
        raise ValueError(f"unable to parse port range: {value}")
    low_text, sign, high_text = value.partition(signs[0]) if signs else (value, "", "")
    low = _parse_decimal(low_text)
    high = low if not sign else _parse_decimal(high_text) + (low if sign == "+" else 0)
    if low > _PORT_MAX or high > _PORT_MAX:
        raise ValueError(f"the port range cannot be greater than 65535: {value}")
    if high < low:
        raise ValueError(f"end port cannot be less than start port: {value}")
    return range(low, high + 1)


def _parse_decimal(text: str) -> int:
    """Return the number that Go's strconv.Atoi reads."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    value = int(text)
    if not _INT64[0] <= value <= _INT64[1]:
        raise ValueError(f"strconv.Atoi: parsing {quote(text)}: value out of range")
    return value


def _keep_text(_: Any, text: str) -> str:
    return text


_PARSERS: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "string": _keep_text,
    "bool": _parse_bool,
    "version": _parse_version,
    "int": _make_integer_parser(_INT64),
    "int64": _make_integer_parser(_INT64),
    "uint": _make_integer_parser((0, (1 << 64) - 1), "ParseUint"),
    "Level": _make_integer_parser((0, _INT32[1]), "ParseUint"),
    "int32Slice": _parse_integers,
    "float": _parse_float,
    "float32": _parse_float,
    "duration": _parse_duration,
    "ip": _parse_ip,
    "strings": _parse_strings,
    "stringArray": _append_text,
    "mapStringString": _parse_map,
    "stringToString": _parse_string_map,
    "mapStringBool": _append_text,
    "portRange": _parse_port_range,
    "namedCertKey": _append_certificate,
    "quantity": _keep_text,
    "pattern=N,...": _keep_text,
}
