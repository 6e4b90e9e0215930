"""Catalogue of the control kinds: names, strategies, printers, defaults, subresources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from mockkube.api.catalogue import STATUS, KindInfo, Subresource
from mockkube.api.kind import DefaultFunction, Kind
from mockkube.api.kinds.dependencies import StrategyDependencies
from mockkube.api.printers.table import Printer
from mockkube.api.strategy import Strategy
from mockkube.apiserver.registry.registry import KindSet
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.control import clock, component, fault, snapshot
from mockkube.cluster.control.definitions import GROUP, VERSION, published

_READ: Final = ("get",)
# Subresources of a component: pages that its binary serves on a port of its own.
PAGES: Final = ("flagz", "metrics", "statusz")
# Subresource of a pod: its explanation.
WHY: Final = "why"

Pages = Mapping[str, Callable[[Any], Any]]


def _info(kind: str, plural: str, *short_names: str, pages: tuple[Subresource, ...] = ()) -> KindInfo:
    return KindInfo(
        GROUP,
        kind,
        plural,
        namespaced=False,
        short_names=short_names,
        versions=(VERSION,),
        subresources=(STATUS, *pages),
    )


CLOCK: Final = _info("Clock", "clocks")
COMPONENT: Final = _info(
    "Component", "components", "comp", pages=tuple(Subresource(name, "Component", _READ) for name in PAGES)
)
FAULT: Final = _info("Fault", "faults")
SNAPSHOT: Final = _info("Snapshot", "snapshots", "snap")
KINDS: Final = (CLOCK, COMPONENT, FAULT, SNAPSHOT)


@dataclass(frozen=True, slots=True)
class Facts:
    """Dependencies of the strategies of the control kinds."""

    configuration: ClusterConfiguration
    components: component.All
    # Returns the revision of the cluster's store.
    revision: Callable[[], int]


def family(facts: Facts, pages: Pages) -> KindSet:
    """Return the control kinds of one cluster; `pages` are handlers of component and pod subresources by name."""
    configuration = facts.configuration
    time = clock.ClockStrategy(configuration.clock)
    of_components = component.ComponentStrategy(configuration, facts.components)
    defaults = component.Defaults(configuration, facts.components)
    kinds = {
        kind.kind: kind
        for kind in (
            _kind(CLOCK, time, clock.PRINTER, lambda obj, _: time.default(obj)),
            _kind(COMPONENT, of_components, component.PRINTER, defaults),
            _kind(FAULT, fault.FaultStrategy(facts.revision), fault.PRINTER),
            _kind(SNAPSHOT, snapshot.SnapshotStrategy(facts.revision), snapshot.PRINTER),
        )
    }
    dependencies = StrategyDependencies()
    return KindSet(
        KINDS,
        load=lambda info: kinds[info.kind],
        strategy=lambda info: kinds[info.kind].strategy(dependencies),
        pages={**{(GROUP, "components", name): pages[name] for name in PAGES}, (GROUP, "pods", WHY): pages[WHY]},
        published={(GROUP, VERSION, kind): published(kind) for kind in kinds},
    )


def _kind(info: KindInfo, strategy: Strategy, printer: Printer, default: DefaultFunction | None = None) -> Kind:
    names = {field.name: getattr(info, field.name) for field in fields(KindInfo)}
    return Kind(
        **names,
        strategy=lambda _: strategy,
        defaults={} if default is None else {VERSION: default},
        printer=printer,
    )
