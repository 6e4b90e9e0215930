"""Parsers of configuration values, from the text of a flag or variable, or from YAML.

A parser returns the value, or raises ValueError with the mistake and the remedy; the caller adds the value's place.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockkube.cluster.configuration.yaml_files import read_mapping
from mockkube.features import trains
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import NEWEST, OLDEST, Version
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube.cluster.configuration.tracing_options import TracingOptions
    from mockkube.proposals.proposal import Proposal

OPTIONAL_COMPONENTS: Final = ("scheduler", "controllers", "kubelets")
SKEW_POLICIES: Final = ("enforce", "warn", "ignore")
REAL_CLOCK: Final = "Real"
METRICS_API_AUTO: Final = "auto"
METRICS_API_MODES: Final = (METRICS_API_AUTO, "on", "off")
VIRTUAL_CLOCK: Final = "Virtual"
WILDCARD_ADDRESSES: Final = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
LOG_LEVELS: Final = ("error", "warning", "info", "debug")

_COMPONENT: Final = re.compile(
    r"kube-apiserver(\.[0-9]+)?|kube-scheduler|kube-controller-manager|kubelet(\.[a-z0-9]([-.a-z0-9]*[a-z0-9])?)?"
)
_COMPONENTS_TEXT: Final = "kube-apiserver[.N], kube-scheduler, kube-controller-manager, kubelet or kubelet.NODE"
_GATE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_PLUGIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_TOKEN: Final = re.compile(r"[!-~]+")
_TOKEN_LENGTH_MAX: Final = 16 << 10
_SECRET_LENGTH_MIN: Final = 16
_SECRET: Final = re.compile(rf"[!-~]{{{_SECRET_LENGTH_MIN},}}")
_HOST: Final = re.compile(r"[a-z0-9]([-._a-z0-9]*[a-z0-9])?|[0-9a-f:]+")
_TRUE: Final = frozenset({"1", "t", "true"})
_FALSE: Final = frozenset({"0", "f", "false"})

ParseValue = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ComponentConfiguration:
    """Configuration of one component; what is missing comes from the cluster."""

    version: Version | None = None
    feature_gates: Mapping[str, bool] = field(default_factory=dict)

    def merge_over(self, lower: "ComponentConfiguration") -> "ComponentConfiguration":
        """Return both merged, this one taking precedence."""
        return ComponentConfiguration(self.version or lower.version, {**lower.feature_gates, **self.feature_gates})


def parse_text(value: Any) -> str:
    """Parse a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{_shorten(value)} is not a text: give one, in quotes if it looks like a number")
    return value


def parse_name(value: Any) -> str:
    """Parse a cluster name, which also names a directory and a context."""
    return _parse_label(value, "a cluster")


def _parse_label(value: Any, kind: str) -> str:
    if not isinstance(value, str) or not _LABEL.fullmatch(value):
        raise ValueError(
            f"{_shorten(value)} cannot name {kind}: use up to 63 lower case letters, digits and '-', "
            "beginning and ending with a letter or digit"
        )
    return value


def parse_bind(value: Any) -> str:
    """Parse an IP address to listen on."""
    import ipaddress  # the default needs none of it

    if value == "localhost":
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(value if isinstance(value, str) else ""))
    except ValueError:
        raise ValueError(f"{_shorten(value)} is not an IP address: give one of this machine, like 127.0.0.1") from None


def parse_address(value: Any) -> str:
    """Parse an IP address at which others reach this machine."""
    address = parse_bind(value)
    if address in WILDCARD_ADDRESSES:
        raise ValueError(f"{address} is not the address of one machine: give one that others can connect to")
    return address


def parse_cluster_id(value: Any) -> str:
    """Parse the name of a control plane that several processes are part of."""
    return _parse_label(value, "a control plane")


def parse_port(value: Any) -> int:
    """Parse a TCP port; 0 picks a free one."""
    number = _parse_integer(value)
    if number is None or not 0 <= number <= 65535:
        raise ValueError(f"{_shorten(value)} is not a port: give a number from 0 to 65535 (0 picks a free one)")
    return number


def parse_nodes(value: Any) -> int:
    """Parse the number of nodes to register."""
    number = _parse_integer(value)
    if number is None or not 0 <= number <= 10_000:
        raise ValueError(f"{_shorten(value)} is not a number of nodes: give one from 0 to 10000")
    return number


def parse_bool(value: Any) -> bool:
    """Parse a boolean."""
    text = value.lower() if isinstance(value, str) else value
    if text is True or text in _TRUE:
        return True
    if text is False or text in _FALSE:
        return False
    raise ValueError(f"{_shorten(value)} is neither true nor false: give one of the two")


def parse_version(value: Any) -> Version:
    """Parse a Kubernetes version that is not too old; release trains decide how new it may be."""
    remedy = f"give one from {OLDEST} to {NEWEST}"
    try:
        version = Version.parse(str(value))
    except ValueError:
        raise ValueError(f"{_shorten(value)} is not a version: {remedy}") from None
    if version < OLDEST:
        raise ValueError(f"version {version} is not supported: {remedy}")
    return version


def parse_version_up_to(value: Any, newest: Version) -> Version:
    """Parse a Kubernetes version that is neither too old nor too new."""
    version = parse_version(value)
    if version > newest:
        raise ValueError(f"version {version} is not supported: give one from {OLDEST} to {newest}")
    return version


def parse_skew_policy(value: Any) -> str:
    """Parse a version skew policy."""
    if value not in SKEW_POLICIES:
        raise ValueError(f"{_shorten(value)} is not a skew policy: give one of {', '.join(SKEW_POLICIES)}")
    return str(value)


def parse_metrics_api(value: Any) -> str:
    """Parse whether metrics.k8s.io is served; YAML reads `on` and `off` as booleans."""
    text = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
    if text not in METRICS_API_MODES:
        raise ValueError(f"{_shorten(value)} is not a mode: give one of {', '.join(METRICS_API_MODES)}")
    return str(text)


def parse_release_trains(value: Any) -> tuple[ReleaseTrain, ...]:
    """Parse release trains, from YAML or from JSON in a text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError(f"{_shorten(value)} is not JSON: give a list of {{gate, stages}}") from None
    return trains.parse_trains(value, default_release_trains())


def default_release_trains() -> tuple[ReleaseTrain, ...]:
    """Return the release trains of proposals as they are planned by default."""
    from mockkube.proposals import loading

    return loading.default_trains()


def parse_proposals(value: Any) -> tuple["Proposal", ...]:
    """Load proposals from Python files, or accept Proposal objects."""
    from mockkube.proposals import loading
    from mockkube.proposals.proposal import Proposal

    given = value if isinstance(value, list | tuple) else [value]
    found: list[Proposal] = []
    for one in given:
        if isinstance(one, Proposal):
            found += loading.validate_given([one])
        elif isinstance(one, Path):
            found += loading.load_file(one)
        else:
            found += (proposal for path in _split_items(one) for proposal in loading.load_file(path))
    return tuple(dict.fromkeys(found))


def add_proposals_to_trains(
    trains: tuple[ReleaseTrain, ...], proposals: tuple["Proposal", ...]
) -> tuple[ReleaseTrain, ...]:
    """Return release trains that also carry these proposals."""
    from mockkube.proposals import loading

    return loading.add_to_trains(trains, proposals)


def parse_path(value: Any) -> Path:
    """Parse a path; return it absolute, with `~` expanded."""
    return Path(os.path.abspath(os.path.expanduser(parse_text(value))))


def parse_token(value: Any) -> str:
    """Parse a bearer token that an HTTP header can carry."""
    if not isinstance(value, str) or not _TOKEN.fullmatch(value):
        # A secret never appears in a message, nor in the logs that quote it.
        raise ValueError("not a token (not shown here): use visible ASCII characters without spaces")
    return value


def parse_token_file(value: Any) -> str:
    """Return the bearer token in the first line of a file."""
    return _parse_secret_file(value, "token", parse_token)


def parse_cluster_key(value: Any) -> str:
    """Parse the secret that encrypts credentials in the database."""
    if not isinstance(value, str) or not _SECRET.fullmatch(value):
        raise ValueError(
            f"not a key (not shown here): use {_SECRET_LENGTH_MIN} or more visible ASCII characters without spaces"
        )
    return value


def parse_cluster_key_file(value: Any) -> str:
    """Return the secret in the first line of a file."""
    return _parse_secret_file(value, "key", parse_cluster_key)


def _parse_secret_file(value: Any, kind: str, parse: Callable[[str], str]) -> str:
    path = parse_path(value)
    try:
        with path.open(encoding="utf-8") as file:
            return parse(file.readline(_TOKEN_LENGTH_MAX).strip())
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}: give a file that holds the {kind}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text: give a file whose first line is the {kind}") from None
    except ValueError as error:
        raise ValueError(f"the first line of {path} is {error}") from None


def parse_hosts(value: Any) -> tuple[str, ...]:
    """Parse host names without ports; return each once, in lower case."""
    hosts = [host.lower() for host in _split_items(value)]
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise ValueError(f"{_shorten(host)} is not the name of a host: give one without a port, like dev.example")
    return tuple(dict.fromkeys(hosts))


def parse_certificate_names(value: Any) -> tuple[str, ...]:
    """Parse names and addresses for a certificate; return each once, in lower case."""
    names = [name.lower() for name in _split_items(value)]
    for name in names:
        if not _HOST.fullmatch(name.removeprefix("*.")):
            raise ValueError(f"{_shorten(name)} is not a name or an address: give one like api.example or 10.0.0.1")
    return tuple(dict.fromkeys(names))


def parse_clock(value: Any) -> str:
    """Parse the clock mode."""
    modes = {mode.lower(): mode for mode in (REAL_CLOCK, VIRTUAL_CLOCK)}
    if not isinstance(value, str) or value.lower() not in modes:
        raise ValueError(f"{_shorten(value)} is not a clock: give one of {', '.join(modes)}")
    return modes[value.lower()]


def parse_log_level(value: Any) -> str:
    """Parse a log level."""
    if value not in LOG_LEVELS:
        raise ValueError(f"{_shorten(value)} is not a log level: give one of {', '.join(LOG_LEVELS)}")
    return str(value)


def parse_without(value: Any) -> tuple[str, ...]:
    """Parse the components to leave out; return them in the order of OPTIONAL_COMPONENTS."""
    given = _split_items(value)
    for name in given:
        if name not in OPTIONAL_COMPONENTS:
            raise ValueError(
                f"{_shorten(name)} cannot be left out: give one or more of {','.join(OPTIONAL_COMPONENTS)}"
            )
    return tuple(name for name in OPTIONAL_COMPONENTS if name in given)


def parse_plugins(value: Any) -> tuple[str, ...]:
    """Parse names of admission plugins; return each once."""
    given = _split_items(value)
    for plugin in given:
        if not _PLUGIN.fullmatch(plugin):
            raise ValueError(f"{_shorten(plugin)} is not the name of an admission plugin: give one like ServiceAccount")
    return tuple(dict.fromkeys(given))


def parse_runtime_config(value: Any) -> dict[str, str]:
    """Parse the API versions and resources to serve, from `KEY=BOOL,...` or from YAML; the server checks the keys."""
    return format_runtime_config(dict(_parse_pairs(value, "GROUP/VERSION=true")))


def format_runtime_config(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of `--runtime-config` by key, as in a flag."""
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in settings.items()}


def parse_controllers(value: Any) -> tuple[str, ...]:
    """Parse names of controllers; they are checked where the controllers are known."""
    return tuple(_split_items(value))


def parse_controller_flags(value: Any) -> dict[str, Any]:
    """Parse flags of the controller manager, from `name=value,...` or from YAML."""
    return {
        name: _parse_scalar(given) if isinstance(given, str) else given
        for name, given in _parse_pairs(value, "FLAG=VALUE")
    }


def _parse_scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_scheduler_config(value: Any) -> dict[str, Any]:
    """Return a KubeSchedulerConfiguration from a mapping or a file; the scheduler validates it."""
    return dict(value) if isinstance(value, Mapping) else read_mapping(parse_path(value), "KubeSchedulerConfiguration")


def parse_tracing_config(value: Any) -> "TracingOptions":
    """Read the file of a TracingConfiguration."""
    from mockkube.cluster.configuration.tracing_options import read_tracing_configuration  # few clusters are traced

    return read_tracing_configuration(parse_path(value))


def parse_gates(value: Any) -> dict[str, bool]:
    """Parse gates by name, or by `component:name`."""
    gates: dict[str, bool] = {}
    for key, setting in _parse_pairs(value):
        component, _, name = key.rpartition(":")
        if component and component != "kube":  # upstream's prefix for Kubernetes itself
            check_component(component)
        _check_gate(name)
        gates[f"{component}:{name}" if component not in ("", "kube") else name] = _parse_gate_value(name, setting)
    return gates


def parse_components(value: Any) -> dict[str, ComponentConfiguration]:
    """Parse components, from `NAME=[VERSION][,Gate=BOOL...]` (`;` between several) or from YAML."""
    if isinstance(value, Mapping):
        return {check_component(name): _parse_component_mapping(fields) for name, fields in value.items()}
    components: dict[str, ComponentConfiguration] = {}
    for text in _split_items(value, separator=";"):
        name, _, rest = text.partition("=")
        check_component(name)
        components[name] = _parse_component_text(text, rest).merge_over(components.get(name, ComponentConfiguration()))
    return components


def _parse_component_text(text: str, rest: str) -> ComponentConfiguration:
    first, _, others = rest.partition(",")
    if not first:
        raise ValueError(f"{_shorten(text)} says nothing of the component: give NAME=VERSION[,Gate=true...]")
    if "=" in first:
        return ComponentConfiguration(None, _parse_own_gates(rest))
    return ComponentConfiguration(parse_version(first), _parse_own_gates(others))


def _parse_component_mapping(fields: Any) -> ComponentConfiguration:
    if not isinstance(fields, Mapping) or not set(fields) <= {"version", "featureGates"}:
        raise ValueError(f"{_shorten(fields)} does not describe a component: give version and featureGates")
    version = parse_version(fields["version"]) if "version" in fields else None
    return ComponentConfiguration(version, _parse_own_gates(fields.get("featureGates", {})))


def _parse_own_gates(value: Any) -> dict[str, bool]:
    gates = parse_gates(value)
    for name in gates:
        if ":" in name:
            raise ValueError(f"{_shorten(name)} names a component inside another: give the gate alone")
    return gates


def check_component(name: Any) -> str:
    """Return a component's name; ValueError if it is not one."""
    if not isinstance(name, str) or not _COMPONENT.fullmatch(name):
        raise ValueError(f"{_shorten(name)} is not a component: give {_COMPONENTS_TEXT}")
    return name


def _check_gate(name: str) -> None:
    if not _GATE.fullmatch(name):
        raise ValueError(f"{_shorten(name)} is not a feature gate: give pairs like TaintTolerationCEL=true")


def _parse_gate_value(name: str, setting: Any) -> bool:
    try:
        return parse_bool(setting)
    except ValueError:
        raise ValueError(f"feature gate {name} is set to {_shorten(setting)}: give true or false") from None


def _parse_pairs(value: Any, example: str = "NAME=true or NAME=false") -> list[tuple[str, Any]]:
    """Split `A=true,B=false`, or return the items of a mapping."""
    if isinstance(value, Mapping):
        return [(str(key), setting) for key, setting in value.items()]
    pairs = []
    for item in _split_items(value):
        key, equals, setting = item.partition("=")
        if not equals:
            raise ValueError(f"{_shorten(item)} is not a pair: give {example}")
        pairs.append((key.strip(), setting.strip()))
    return pairs


def _split_items(value: Any, *, separator: str = ",") -> list[str]:
    """Split a text, or each text of a list, at the separator; drop empty pieces."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{_shorten(value)} is not a list of texts: give them separated by {separator!r}")
    return [piece.strip() for text in texts for piece in text.split(separator) if piece.strip()]


def _parse_integer(value: Any) -> int | None:
    # bool is an int in Python, but `port: true` is a mistake.
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value) else None


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
