"""Parse parameters of commands: version and gates of a component, files of objects, taints, labels."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click
from mockkube_cel.golang import gotime

from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.configuration.values import parse_gates, parse_version
from mockkube.features.capabilities import Capabilities
from mockkube.features.errors import FlagError
from mockkube.features.flags import validate_gates
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import DEFAULT, NEWEST, Version
from mockkube.proposals.loading import default_trains

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_FILE_BYTES_MAX: Final = 1 << 28  # more than a cluster keeps
_VERSION: Final = "Kubernetes version of the component."
_GATE: Final = "A feature gate of the component. May be repeated."


def component_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--version` and `--gate` to a command and pass it the component's capabilities as `caps`."""

    @wraps(function)
    def wrapper(*args: Any, version: str, gates: tuple[str, ...], **rest: Any) -> Any:
        return function(*args, caps=build_capabilities(parse_version_flag(version), parse_gate_flags(gates)), **rest)

    gate = click.option("--gate", "gates", multiple=True, metavar="GATE[=BOOL]", help=_GATE)
    return click.option("--version", metavar="VERSION", default=str(DEFAULT), show_default=True, help=_VERSION)(
        gate(wrapper)
    )


def parse_version_flag(text: str, flag: str = "--version") -> Version:
    """Return a supported version."""
    try:
        version = parse_version(text)
    except ValueError as error:
        raise ConfigurationError(f"{flag}: {error}") from None
    if version > NEWEST:
        raise ConfigurationError(f"{flag}: version {version} is not supported: give one up to {NEWEST}")
    return version


def parse_gate_flags(texts: Sequence[str], flag: str = "--gate") -> dict[str, bool]:
    """Return gates by name; a gate without a value is on."""
    gates: dict[str, bool] = {}
    for text in ",".join(texts).split(",") if texts else ():
        try:
            gates |= parse_gates(text if "=" in text else f"{text}=true")
        except ValueError as error:
            raise ConfigurationError(f"{flag}: {error}") from None
    return gates


def parse_duration_flag(text: str, flag: str) -> float:
    """Return a duration like 30m in seconds."""
    duration = gotime.parse_duration(text)
    if duration is None or duration.nanos < 0:
        raise ConfigurationError(f"{flag}: {text!r} is no duration: write one like 90s or 1h30m")
    return float(duration.nanos / 1e9)


def build_capabilities(
    version: Version,
    gates: Mapping[str, bool],
    *,
    component: str = "kube-apiserver",
    flag: str = "--gate",
) -> Capabilities:
    """Return the capabilities of a component; raise ConfigurationError in upstream's words for invalid gates."""
    trains = default_trains()
    try:
        parsed = validate_gates(gates, component, version, trains=trains)
    except FlagError as error:
        raise ConfigurationError(f"{flag}: {error}") from None
    return Capabilities(version, enabled_gates(version, parsed.overrides, trains, component=component), trains)


def read_documents(path: str) -> Iterator[Any]:
    """Yield the YAML or JSON documents of a file; `-` is standard input."""
    import yaml

    from mockkube.api.decoding import bounded_yaml

    try:
        text = _read_content(path)
        # Loaded completely before the first document is used, so that a later mistake is reported before any output.
        loaded = bounded_yaml.load_all(text)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}: give a readable file") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ConfigurationError(f"{path}: not valid YAML: {reason}") from None
    return (document for document in loaded if document is not None)


def _read_content(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read(_FILE_BYTES_MAX)
    with Path(path).open("rb") as file:
        return file.read(_FILE_BYTES_MAX)


def read_scheduler_configuration(path: str | None) -> dict[str, Any] | None:
    """Return the KubeSchedulerConfiguration of `--config`, None without one."""
    if path is None:
        return None
    found = list(read_documents(path))
    if len(found) != 1 or not isinstance(found[0], dict):
        raise ConfigurationError(f"--config: {path}: give one KubeSchedulerConfiguration")
    given: dict[str, Any] = found[0]
    return given


def parse_taint(text: str) -> dict[str, str]:
    """Parse `key=value:Effect` or `key:Effect`."""
    rest, colon, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    if not colon or effect not in EFFECTS or not key:
        raise ConfigurationError(
            f"--taint: {text!r} is not a taint: give one like key=value:NoSchedule; effects are {', '.join(EFFECTS)}"
        )
    return {"key": key, "value": value, "effect": effect}


def parse_labels(texts: Sequence[str]) -> dict[str, str]:
    """Parse `key=value,key=value`."""
    labels: dict[str, str] = {}
    for pair in (pair for text in texts for pair in text.split(",") if pair):
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ConfigurationError(f"--labels: {pair!r} is not a label: give some like zone=a,disk=ssd")
        labels[key] = value
    return labels
