"""Parse and validate the gate and version flags of a component as the real binaries do.

`parse_feature_gates` parses the value of `--feature-gates`, `validate_gates` takes the same as a mapping, `parse_flags`
a whole command line. Errors that upstream reports in random order are sorted here.
"""

# upstream 1.36: staging/src/k8s.io/component-base/featuregate/feature_gate.go (its texts changed in 1.35 and 1.36)

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube_cel.golang.strconv import BOOLEANS

from mockkube.features.effective_version import KUBE, EffectiveVersion, parse_effective_version
from mockkube.features.errors import FlagError, quote
from mockkube.features.gates import GateRegistry, gate_registry
from mockkube.features.stages import Maturity
from mockkube.features.trains import PROPOSAL_TRAINS, ReleaseTrain
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

_GATES_FLAG: Final = "feature-gates"
_EMULATED_VERSION_FLAG: Final = "emulated-version"
_MIN_COMPATIBILITY_FLAG: Final = "min-compatibility-version"
_FORWARD_COMPATIBLE_FLAGS: Final = {  # flags of the API server only, with their names in its error
    "emulation-forward-compatible": "EmulationForwardCompatible",
    "runtime-config-emulation-forward-compatible": "RuntimeConfigEmulationForwardCompatible",
}
_NODE_COMPONENTS: Final = frozenset({"kubelet", "kube-proxy"})  # their flags support neither emulation nor prefixes


@dataclass(frozen=True, slots=True)
class FlagNotice:
    """Line that a component logs about its flags when it starts in spite of them."""

    severity: str  # info or warning
    text: str

    def __str__(self) -> str:
        return f"{self.severity} {self.text}"


@dataclass(frozen=True, slots=True)
class ParsedGates:
    """Valid gate settings, by the gates' own names, with warnings to log."""

    overrides: Mapping[str, bool]
    warnings: tuple[FlagNotice, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedFlags:
    """Effective version and gates that a command line asks for."""

    effective_version: EffectiveVersion
    gates: ParsedGates


def parse_flags(
    component: str,
    binary: Version,
    flags: Mapping[str, Sequence[str]],
    trains: tuple[ReleaseTrain, ...] = PROPOSAL_TRAINS,
) -> ParsedFlags:
    """Validate a component's flags, each with its values; raise FlagError where the binary would exit.

    A flag without a value counts as `true`. Gates are validated before ranges of versions, as upstream does.
    """
    parsed = parse_version_flags(component, binary, flags, trains)
    if errors := list_version_errors(parsed.effective_version, flags):
        raise FlagError(*errors)
    return parsed


def parse_version_flags(
    component: str,
    binary: Version,
    flags: Mapping[str, Sequence[str]],
    trains: tuple[ReleaseTrain, ...] = PROPOSAL_TRAINS,
) -> ParsedFlags:
    """Parse a component's flags as `parse_flags` does, but do not check whether the versions are in range."""
    _check_known_flags(component, binary, flags)
    effective_version = parse_effective_version(
        binary, flags.get(_EMULATED_VERSION_FLAG, ()), flags.get(_MIN_COMPATIBILITY_FLAG, ())
    )
    gates = parse_feature_gates(
        flags.get(_GATES_FLAG, ()), component, binary, effective_version=effective_version, trains=trains
    )
    return ParsedFlags(effective_version, gates)


def list_version_errors(effective_version: EffectiveVersion, flags: Mapping[str, Sequence[str]]) -> list[str]:
    """Return upstream's texts about versions that are out of range, and flags that do not suit them."""
    return [*effective_version.validate(), *_forward_errors(flags, effective_version)]


def parse_feature_gates(
    values: str | Sequence[str],
    component: str,
    version: Version,
    *,
    effective_version: EffectiveVersion | None = None,
    trains: tuple[ReleaseTrain, ...] = PROPOSAL_TRAINS,
) -> ParsedGates:
    """Parse `[component:]Gate=bool,...`; raise FlagError with upstream's text if the component would not start."""
    text = values if isinstance(values, str) else ",".join(values)
    # Kubelet and kube-proxy use a plain string-to-bool map flag, without component prefixes and with other error texts.
    given = dict(_parse_pairs(text) if component.partition(".")[0] in _NODE_COMPONENTS else _parse_prefixed_pairs(text))
    return validate_gates(given, component, version, effective_version=effective_version, trains=trains)


def validate_gates(
    gates: Mapping[str, bool],
    component: str,
    version: Version,
    *,
    effective_version: EffectiveVersion | None = None,
    trains: tuple[ReleaseTrain, ...] = PROPOSAL_TRAINS,
) -> ParsedGates:
    """Return the gates that a component of this version can be started with, or raise FlagError."""
    at = effective_version or EffectiveVersion.from_version(version)
    known = gate_registry(version, trains, component)
    overrides = known.resolve_aliases(gates)
    for gate in overrides:
        if gate not in known.histories:
            raise FlagError(f"unrecognized feature gate: {gate}")
    # Upstream checks dependencies between gates only once every single gate is valid.
    if errors := (*_gate_errors(overrides, known, at),) or (*_dependency_errors(overrides, known, at),):
        raise FlagError(*errors)
    notices = [*_removal_warnings(overrides, known, at)]
    if component.partition(".")[0] not in _NODE_COMPONENTS:
        notices += _alpha_warnings(overrides, known, at)
    return ParsedGates(overrides, tuple(notices))


def _check_known_flags(component: str, binary: Version, flags: Mapping[str, Sequence[str]]) -> None:
    name = component.partition(".")[0]
    known = {_GATES_FLAG}
    if name not in _NODE_COMPONENTS:
        # --min-compatibility-version exists since 1.35.
        known |= {_EMULATED_VERSION_FLAG} | ({_MIN_COMPATIBILITY_FLAG} if binary >= Version(1, 35) else set())
    if name == "kube-apiserver":
        known |= _FORWARD_COMPATIBLE_FLAGS.keys()
    for flag in flags:
        if flag not in known:
            raise FlagError(f"unknown flag: --{flag}")


def _forward_errors(flags: Mapping[str, Sequence[str]], effective_version: EffectiveVersion) -> Iterator[str]:
    if effective_version.emulated == effective_version.binary:
        for flag, field in _FORWARD_COMPATIBLE_FLAGS.items():
            # A repeated flag counts with its last value, as pflag does it.
            if flag in flags and BOOLEANS.get(flags[flag][-1] if flags[flag] else "true", False):
                reason = "if the emulation version is the same as the binary version"
                yield f"ServerRunOptions.{field} cannot be set to true {reason}"


def _parse_prefixed_pairs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the gates of Kubernetes itself, from pairs with and without its prefix."""
    values: dict[str, list[str]] = {}
    for entry in filter(None, text.split(",")):
        prefix, colon, pair = entry.partition(":")
        values.setdefault(prefix.strip() if colon else "", []).append((pair if colon else prefix).strip())
    # Both prefixes name the same component, so upstream refuses the mixture.
    if "" in values and KUBE in values:
        mixed = "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"
        raise FlagError(mixed)
    if unregistered := sorted(values.keys() - {"", KUBE}):
        raise FlagError(f"component not registered: {unregistered[0]}")
    for entry in filter(None, (entry for entries in values.values() for entry in entries)):
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not equals:
            raise FlagError(f"missing bool value for {name}")
        if value not in BOOLEANS:
            raise FlagError(f"invalid value of {name}={value}, err: {_parse_bool_error(value)}")
        yield name, BOOLEANS[value]


def _parse_pairs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield gates as kubelet and kube-proxy parse them."""
    # upstream 1.36: staging/src/k8s.io/component-base/cli/flag/map_string_bool.go
    refusal = f'invalid argument {quote(text)} for "--{_GATES_FLAG}" flag'
    for entry in filter(None, text.split(",")):
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not equals:
            raise FlagError(f"{refusal}: malformed pair, expect string=bool")
        if value not in BOOLEANS:
            raise FlagError(f"{refusal}: invalid value of {name}: {value}, err: {_parse_bool_error(value)}")
        yield name, BOOLEANS[value]


def _parse_bool_error(value: str) -> str:
    return f"strconv.ParseBool: parsing {quote(value)}: invalid syntax"


def _gate_errors(overrides: Mapping[str, bool], known: GateRegistry, at: EffectiveVersion) -> Iterator[str]:
    """Yield an error for each gate that cannot be set at this version."""
    for gate, value in overrides.items():
        stage = known.stage(gate, at)
        refusal = f"cannot set feature gate {gate} to {_format_bool(value)}, feature is"
        if stage.locked and stage.default != value:
            yield f"{refusal} locked to {_format_bool(stage.default)}"
        elif stage.maturity is Maturity.PRE_ALPHA:
            # The text names the minimum compatibility version since 1.35.
            minimum = f", min compatibility version {at.min_compatibility}" if at.binary >= Version(1, 35) else ""
            yield f"{refusal} PreAlpha at emulated version {at.emulated}{minimum}"


def _dependency_errors(overrides: Mapping[str, bool], known: GateRegistry, at: EffectiveVersion) -> Iterator[str]:
    """Yield an error for each enabled gate that depends on a disabled one."""
    switches = known.gate_values(overrides, at)
    for gate, dependencies in known.dependencies.items():
        missing = [dependency for dependency in dependencies if not switches.get(dependency, False)]
        if missing and switches.get(gate, False):
            yield f"{gate} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"


def _removal_warnings(overrides: Mapping[str, bool], known: GateRegistry, at: EffectiveVersion) -> Iterator[FlagNotice]:
    """Yield a warning for each configured gate that will be removed."""
    for gate, value in overrides.items():
        maturity = known.stage(gate, at).maturity
        if maturity not in (Maturity.GA, Maturity.DEPRECATED):
            continue
        kind = "GA" if maturity is Maturity.GA else "deprecated"
        end = "It will be removed in a future release."
        # Since 1.36 the message is structured and logged at info level.
        if at.binary >= Version(1, 36):
            text = f'"Warning: setting {kind} feature gate. {end}" featureGate="{gate}" value={_format_bool(value)}'
            yield FlagNotice("info", text)
        else:
            yield FlagNotice("warning", f"Setting {kind} feature gate {gate}={_format_bool(value)}. {end}")


def _alpha_warnings(overrides: Mapping[str, bool], known: GateRegistry, at: EffectiveVersion) -> Iterator[FlagNotice]:
    """Yield a warning about alpha gates where upstream treats the binary as emulating.

    Upstream compares the whole version of the binary, so that 1.36.4 counts as emulating 1.36 and 1.37.0-rc.1 does not
    count as emulating 1.37.
    """
    if at.binary < Version(1, 34) or not at.is_emulating:
        return
    switches = known.gate_values(overrides, at)
    alpha = [gate for gate in sorted(switches) if switches[gate] and known.stage(gate, at).maturity is Maturity.ALPHA]
    if alpha:
        features = f"features=[{' '.join(alpha)}]"
        text = f"component has alpha features enabled in emulated version, this is unsupported: {features}"
        yield FlagNotice("warning", text)


def _format_bool(value: bool) -> str:
    return "true" if value else "false"
