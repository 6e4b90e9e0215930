"""Checks of components: gates and flags with which the new version does not start, and gates whose default changes."""

from collections.abc import Iterator, Mapping
from typing import Final

from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, SCHEDULER
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.gates import gate_registry
from mockkube.features.stages import GateStage, Maturity
from mockkube.features.versions import Version
from mockkube.proposals.loading import default_trains
from mockkube.rehearse.findings import GATE, Finding, Severity, Topic
from mockkube.rehearse.upgrade import COMPONENTS, Upgrade

# Flags by component, with the version that no longer has them.
# upstream: CHANGELOG-1.34.md to CHANGELOG-1.37.md, "Other (Cleanup or Flake)" and "Urgent Upgrade Notes"
REMOVED_FLAGS: Final[Mapping[str, Mapping[str, Version]]] = {
    CONTROLLER_MANAGER: {"concurrent-service-syncs": Version(1, 37)},
    "kubelet": {"cloud-config": Version(1, 34), "pod-infra-container-image": Version(1, 35)},
}


def check_components(upgrade: Upgrade) -> Iterator[Finding]:
    """Yield what keeps components from starting, and the gates whose default changes."""
    for component in COMPONENTS:
        yield from _check_gates(upgrade, component)
    yield from _check_flags(upgrade)
    yield from _find_changed_defaults(upgrade)


def _check_gates(upgrade: Upgrade, component: str) -> Iterator[Finding]:
    gates = {**upgrade.gates_after(component), **_given_gates(upgrade, component)}
    for gate, on in gates.items():
        if error := upgrade.find_flag_error(component, {gate: on}):
            yield Finding(
                Severity.BREAKS,
                Topic.COMPONENT,
                f"{component} {upgrade.to} does not start with {gate}={str(on).lower()}: {error}",
                f"remove {gate} from --feature-gates of {component} before its upgrade",
                component,
                field=gate,
            )


def _given_gates(upgrade: Upgrade, component: str) -> dict[str, bool]:
    """Return gates of the command that the API server does not know, and so no component does."""
    known = {gate for one in COMPONENTS for gate in gate_registry(upgrade.to, default_trains(), one).histories}
    return {gate: on for gate, on in upgrade.gates.items() if gate not in known} if component == API_SERVER else {}


def _check_flags(upgrade: Upgrade) -> Iterator[Finding]:
    for pod in upgrade.list_kind("Pod"):
        component = (pod["metadata"].get("labels") or {}).get("component", "")
        if pod["metadata"].get("namespace") != "kube-system" or component not in (
            API_SERVER,
            CONTROLLER_MANAGER,
            SCHEDULER,
        ):
            continue
        for flag, gone in REMOVED_FLAGS.get(component, {}).items():
            if upgrade.version < gone <= upgrade.to and _has_flag(pod, flag):
                yield Finding(
                    Severity.BREAKS,
                    Topic.COMPONENT,
                    f"{component} {upgrade.to} does not start: {gone} has no flag --{flag}",
                    f"remove --{flag} from its manifest",
                    component,
                    field=f"--{flag}",
                )


def _has_flag(pod: Mapping[str, object], flag: str) -> bool:
    spec = pod.get("spec")
    containers = spec.get("containers") or () if isinstance(spec, Mapping) else ()
    words = [word for one in containers for word in (*(one.get("command") or ()), *(one.get("args") or ()))]
    return any(str(word).partition("=")[0] == f"--{flag}" for word in words)


def _find_changed_defaults(upgrade: Upgrade) -> Iterator[Finding]:
    """Yield gates without an explicit value whose default changes."""
    for component in COMPONENTS:
        before, after = _stages(upgrade.version_of(component), component), _stages(upgrade.to, component)
        given = {**upgrade.gates_of(component), **upgrade.gates}
        for gate, stage in after.items():
            old = before.get(gate)
            if old is None or gate in given or old.default == stage.default or old.maturity is Maturity.PRE_ALPHA:
                continue
            if component != API_SERVER and gate in _stages(upgrade.to, API_SERVER):
                continue  # most gates are of several components: reported once
            holders = [one for one in COMPONENTS if gate in _stages(upgrade.to, one)]
            turned = "on" if stage.default else "off"
            locked = ", and cannot be changed" if stage.locked else ""
            yield Finding(
                Severity.CHANGES,
                Topic.DEFAULT,
                f"{GATE}{gate} is {turned} by default since {stage.version}{locked}",
                "" if stage.locked else f"--feature-gates={gate}={str(not stage.default).lower()} keeps it as it is",
                "all components" if len(holders) == len(COMPONENTS) else ", ".join(holders),
                field=gate,
            )


def _stages(version: Version, component: str) -> dict[str, GateStage]:
    registry, at = gate_registry(version, default_trains(), component), EffectiveVersion.from_version(version)
    return {gate: registry.stage(gate, at) for gate in registry.histories}
