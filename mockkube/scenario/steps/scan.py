"""Step `scan`: find what would break if a gate were disabled or components were downgraded."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated, ClassVar, Final, Literal

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.configuration.values import parse_version
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import gate_registry
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.scan import COMPONENTS, RESOURCES, scan_objects
from mockkube.proposals.server_impact import ScanFinding
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World

ScannedComponent = Literal["kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet"]
_SHOWN_MAX: Final = 12


@dataclass(frozen=True, slots=True)
class ExpectedFinding:
    """A finding that the scan must have, or must not have."""

    component: Annotated[str, "at which component; empty: any"] = ""
    kind: Annotated[str, "the kind of the object; empty: any"] = ""
    name: Annotated[str, "the name of the object; empty: any"] = ""
    field: Annotated[str, "a part of the path of the field"] = ""
    reason: Annotated[str, "a part of what happens"] = ""

    def matches(self, found: ScanFinding) -> bool:
        """Return whether a finding matches."""
        return (
            self.component in ("", found.component)
            and self.kind in ("", found.kind)
            and self.name in ("", found.name)
            and self.field in found.field
            and self.reason in found.reason
        )


@dataclass(frozen=True)
class ScanStep(ScenarioStep):
    """Scan all objects as `mockkube scan` does, and compare the findings."""

    verb: ClassVar[str] = "scan"

    feature_gates: Annotated[Mapping[str, bool], "gates as they would be set"] = field(default_factory=dict)
    to: Annotated[str, "the version that components would go back to; empty: their own"] = ""
    components: Annotated[tuple[ScannedComponent, ...], "where this happens"] = COMPONENTS
    finds: Annotated[tuple[ExpectedFinding, ...], "what must be among the findings"] = ()
    spares: Annotated[tuple[ExpectedFinding, ...], "what must not be among them"] = ()
    count: Annotated[int | None, "how many findings there are"] = None

    def complaint(self) -> str:
        """Return an error if nothing changes."""
        return "" if self.feature_gates or self.to else "nothing changes: give `featureGates` or `to`"

    async def play(self, world: World) -> None:
        """Scan and compare the findings."""
        objects = [obj async for obj in _list_objects(world)]
        found = scan_objects(objects, self._capability_changes(world), world.clock.now())
        world.context.add_log(
            "\n".join(_format_finding(one) for one in found) or f"nothing breaks in {len(objects)} objects"
        )
        if wrong := list(self._find_differences(found)):
            raise StepFailed("\n  ".join([*wrong, "it finds:", *(_format_finding(one) for one in found[:_SHOWN_MAX])]))

    def _capability_changes(self, world: World) -> dict[str, tuple[Capabilities, Capabilities]]:
        return {name: self._capability_change(world.settings(name)) for name in self.components}

    def _capability_change(self, settings: ComponentSettings) -> tuple[Capabilities, Capabilities]:
        """Return the capabilities of a component before and after the change."""
        try:
            version = parse_version(self.to) if self.to else settings.version
            after = replace(settings, version=version, feature_gates=self._target_gates(settings, version))
            after.validate()
        except ValueError as error:
            raise StepFailed(f"{settings.component}: {error}") from None
        return settings.capabilities(), after.capabilities()

    def _target_gates(self, settings: ComponentSettings, version: Version) -> dict[str, bool]:
        """Return the gates after the change; those that the target version lacks are left out."""
        gates = {**settings.feature_gates, **self.feature_gates}
        if version == settings.version:
            return gates
        known = gate_registry(version, settings.trains, settings.component)
        return {gate: on for gate, on in gates.items() if known.aliases.get(gate, gate) in known.histories}

    def _find_differences(self, found: Sequence[ScanFinding]) -> Iterator[str]:
        yield from (f"it does not find {one}" for one in self.finds if not any(map(one.matches, found)))
        yield from (f"it finds {one}" for one in self.spares if any(map(one.matches, found)))
        if self.count is not None and len(found) != self.count:
            yield f"it finds {len(found)} things instead of {self.count}"


async def _list_objects(world: World) -> AsyncIterator[ReadOnlyObject]:
    """Yield every object of the scanned kinds; an older server lacks some."""
    client = world.client()
    for api_version, _, kind in RESOURCES:
        group = api_version.rpartition("/")[0]
        try:
            listed = await client.list(f"{kind}.{group}")
        except NotFound:
            continue
        for obj in listed.items:
            yield {"apiVersion": api_version, "kind": kind, **obj}


def _format_finding(one: ScanFinding) -> str:
    place = f"{one.namespace}/{one.name}" if one.namespace else one.name
    return f"{one.component}: {one.kind} {place} {one.field}: {' '.join(one.reason.split())}"
