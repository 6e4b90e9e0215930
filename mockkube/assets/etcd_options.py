"""Options of the etcd executable: flags, variables and configuration file, parsed as the real etcd parses them."""

# upstream etcd 3.6: server/embed/config.go, server/etcdmain/config.go, pkg/flags/flag.go
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Self

from mockkube.lazy_dataclasses import dataclass

ENVIRONMENT_PREFIX: Final = "ETCD_"

# Without pathlib and urllib, whose imports would be a tenth of the start of this server.
_TABLE: Final = os.path.join(os.path.dirname(__file__), "data", "etcd_flags.tsv")
_PORT_MAX: Final = 65535
# A copy of strconv's, whose package takes longer to import than this server to start.
_BOOLEAN_VALUES: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
_LOG_LEVELS: Final = ("debug", "info", "warn", "error", "panic", "fatal")


@dataclass(frozen=True, slots=True)
class EtcdFlag:
    """Flag of etcd; it has no effect here if `help` is empty."""

    name: str
    is_boolean: bool
    default: str
    help: str


# Read here, as the parser of kube-apiserver's flags takes longer to import than this server to start.
def _read_flags() -> Iterator[EtcdFlag]:
    with open(_TABLE, encoding="utf-8") as table:
        for line in table:
            if not line.startswith("#"):
                name, type_, default, help_ = line.rstrip("\n").split("\t")
                yield EtcdFlag(name, type_ == "bool", default, help_)


_FLAGS: Final = {flag.name: flag for flag in (*_read_flags(), EtcdFlag("help", True, "false", "Print this text."))}


class UsageError(ValueError):
    """Command line that cannot be parsed; the text is that of Go's flag package where it has one."""


class OptionsError(ValueError):
    """Options that etcd cannot start with."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Address of a URL to listen on."""

    host: str
    port: int


@dataclass(frozen=True)
class EtcdOptions:
    """Options, and what to warn of."""

    values: Mapping[str, str]
    warnings: Sequence[str]

    @classmethod
    def parse(cls, arguments: Sequence[str], environment: Mapping[str, str]) -> Self:
        """Parse flags and variables, or the configuration file alone. Raises UsageError or OptionsError."""
        warnings: list[str] = []
        given = dict(_parse_flags(arguments, warnings.append))
        defaults = {flag.name: flag.default for flag in _FLAGS.values()}
        options = cls({**defaults, **given}, warnings)
        options._check_booleans()
        if options.wants_help or options.wants_version:
            return options
        path = given.get("config-file") or environment.get(_variable("config-file"), "")
        from_elsewhere = _read_file(path) if path else _read_environment(given, environment, warnings.append)
        options = cls({**defaults, **({} if path else given), **from_elsewhere}, warnings)
        options._check_booleans()
        options._validate()
        return options

    def _check_booleans(self) -> None:
        for flag in _FLAGS.values():
            if flag.is_boolean:
                _parse_boolean(flag.name, self.values[flag.name])

    def _validate(self) -> None:
        if self.values["log-level"] not in _LOG_LEVELS:
            raise OptionsError(f"--log-level must be one of {', '.join(_LOG_LEVELS)}: {self.values['log-level']}")
        if not self.addresses:
            raise OptionsError("--listen-client-urls is empty")

    @property
    def wants_help(self) -> bool:
        """True for `--help`."""
        return self._is_true("help")

    @property
    def wants_version(self) -> bool:
        """True for `--version`."""
        return self._is_true("version")

    @property
    def data_directory(self) -> str:
        """Directory of the store."""
        return self.values["data-dir"] or f"{self.values['name']}.etcd"

    @property
    def fsync(self) -> bool:
        """True if writes wait for the disk."""
        return not self._is_true("unsafe-no-fsync")

    @property
    def addresses(self) -> tuple[ListenAddress, ...]:
        """Addresses to listen on, each once. Raises OptionsError."""
        names = ("listen-client-urls", "listen-client-http-urls", "listen-metrics-urls")
        urls = ((name, url) for name in names for url in self.values[name].split(",") if url)
        return tuple(dict.fromkeys(_parse_url(name, url.strip()) for name, url in urls))

    def _is_true(self, name: str) -> bool:
        return _parse_boolean(name, self.values[name])


def render_help() -> str:
    """Return the text of `--help`: a line per flag, then what it does."""
    lines = ["Usage:", "", "  etcd [flags]", "", "Flags:"]
    for flag in _FLAGS.values():
        lines += [f"  --{flag.name} '{flag.default}'", f"    {flag.help or 'Accepted; has no effect here.'}"]
    return "\n".join(lines)


def _parse_flags(arguments: Sequence[str], warn: Callable[[str], None]) -> Iterator[tuple[str, str]]:
    """Yield names and values as Go's flag package parses them; `-name` and `--name` mean the same."""
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--" or not argument.startswith("-") or argument == "-":
            unexpected = [argument, *rest] if argument != "--" else rest
            if unexpected:
                raise OptionsError(f'"{unexpected[0]}" is not a valid flag')
            return
        name, equals, value = argument.removeprefix("-").removeprefix("-").partition("=")
        if not name or name.startswith("-"):
            raise UsageError(f"bad flag syntax: {argument}")
        name = {"h": "help"}.get(name, name)
        flag = _FLAGS.get(name)
        if flag is None:
            # differs: the real etcd exits, but tools pass flags of newer and older releases
            warn(f"unknown flag, ignored: --{name}")
            if not equals and rest and not rest[0].startswith("-"):
                rest.pop(0)
            continue
        if not equals:
            if not flag.is_boolean and not rest:
                raise UsageError(f"flag needs an argument: -{name}")
            value = "true" if flag.is_boolean else rest.pop(0)
        yield name, value


def _read_environment(
    given: Mapping[str, str], environment: Mapping[str, str], warn: Callable[[str], None]
) -> dict[str, str]:
    names = {_variable(name): name for name in _FLAGS}
    values = {}
    for variable, value in environment.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or not value:
            continue
        name = names.get(variable)
        if name is None or name in ("version", "help"):
            warn(f"unrecognized environment variable: {variable}")
        elif name in given:
            raise OptionsError(
                f"conflicting environment variable {variable} is shadowed by the flag --{name}; unset one of them"
            )
        else:
            values[name] = value
    return values


def _read_file(path: str) -> dict[str, str]:
    import yaml

    from mockkube.api.decoding import bounded_yaml

    try:
        with open(path, encoding="utf-8") as file:
            content: Any = bounded_yaml.load(file.read())
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise OptionsError(f"--config-file {path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise OptionsError(f"--config-file {path} is not a YAML mapping")
    return {name: _format_value(value) for name, value in content.items() if name in _FLAGS}


def _format_value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ",".join(map(str, value))
        case _:
            return str(value)


def _variable(name: str) -> str:
    return ENVIRONMENT_PREFIX + name.replace("-", "_").upper()


def _parse_boolean(name: str, text: str) -> bool:
    if text not in _BOOLEAN_VALUES:
        raise UsageError(f'invalid boolean value "{text}" for -{name}: parse error')
    return _BOOLEAN_VALUES[text]


def _parse_url(name: str, url: str) -> ListenAddress:
    # upstream etcd 3.6: client/pkg/types/urls.go
    scheme, separator, rest = url.partition("://")
    if separator and scheme in ("https", "unix", "unixs"):
        raise OptionsError(f"--{name}: this etcd serves plain HTTP on TCP only; use http://host:port instead of {url}")
    if not separator or scheme != "http":
        raise OptionsError(f"--{name}: URL scheme must be http, https, unix, or unixs: {url}")
    authority, slash, _ = rest.partition("/")
    host, colon, port = authority.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _PORT_MAX or host.endswith(":"):
        raise OptionsError(f'--{name}: URL address does not have the form "host:port": {url}')
    if slash:
        raise OptionsError(f"--{name}: URL must not contain a path: {url}")
    return ListenAddress(host.removeprefix("[").removesuffix("]"), int(port))
