"""Catalogue of the control kinds: names, strategies, printers, defaults, subresources."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

from mockkube.api.catalogue import STATUS, KindInfo, Subresource
from mockkube.api.kind import DefaultFunction, Kind
from mockkube.api.printers.table import Printer
from mockkube.api.strategy import Strategy
from mockkube.api.strategy_dependencies import StrategyDependencies
from mockkube.apiserver.registry.registry import KindSet
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.control import clock, component, fault, node_group, snapshot
from mockkube.cluster.control.schemas import GROUP, VERSION, make_published_schema
from mockkube.lazy_dataclasses import dataclass

_READ: Final = ("get",)
# Subresources of a component: pages that its binary serves on a port of its own.
PAGE_NAMES: Final = ("flagz", "metrics", "statusz")
# Subresource of the API server: a link to the page of the cluster.
UI_PAGE: Final = "ui"
# Subresource of a pod: its explanation.
WHY_PAGE: Final = "why"

PageHandlers = Mapping[str, Callable[[Any], Any]]


def _make_kind_info(kind: str, plural: str, *short_names: str, pages: tuple[Subresource, ...] = ()) -> KindInfo:
    return KindInfo(
        GROUP,
        kind,
        plural,
        namespaced=False,
        short_names=short_names,
        versions=(VERSION,),
        subresources=(STATUS, *pages),
    )


CLOCK: Final = _make_kind_info("Clock", "clocks")
COMPONENT: Final = _make_kind_info(
    "Component",
    "components",
    "comp",
    pages=tuple(Subresource(name, "Component", _READ) for name in (*PAGE_NAMES, UI_PAGE)),
)
FAULT: Final = _make_kind_info("Fault", "faults")
NODE_GROUP: Final = _make_kind_info("NodeGroup", "nodegroups", "ng")
SNAPSHOT: Final = _make_kind_info("Snapshot", "snapshots", "snap")
KINDS: Final = (CLOCK, COMPONENT, FAULT, NODE_GROUP, SNAPSHOT)


@dataclass(frozen=True, slots=True)
class ControlKindDependencies:
    """Dependencies of the strategies of the control kinds."""

    configuration: ClusterConfiguration
    load_specs: component.LoadComponentSpecs
    # Returns the revision of the cluster's store.
    get_revision: Callable[[], int]


def make_kind_set(kind_dependencies: ControlKindDependencies, pages: PageHandlers) -> KindSet:
    """Return the control kinds of one cluster; `pages` are handlers of component and pod subresources by name."""
    configuration = kind_dependencies.configuration
    time = clock.ClockStrategy(configuration.clock)
    of_components = component.ComponentStrategy(configuration, kind_dependencies.load_specs)
    defaults = component.ComponentDefaults(configuration, kind_dependencies.load_specs)
    kinds = {
        kind.kind: kind
        for kind in (
            _make_kind(CLOCK, time, clock.PRINTER, lambda obj, _: time.default(obj)),
            _make_kind(COMPONENT, of_components, component.PRINTER, defaults),
            _make_kind(FAULT, fault.FaultStrategy(kind_dependencies.get_revision), fault.PRINTER),
            _make_kind(NODE_GROUP, node_group.NodeGroupStrategy(), node_group.PRINTER),
            _make_kind(SNAPSHOT, snapshot.SnapshotStrategy(kind_dependencies.get_revision), snapshot.PRINTER),
        )
    }
    dependencies = StrategyDependencies()
    return KindSet(
        KINDS,
        load=lambda info: kinds[info.kind],
        strategy=lambda info: kinds[info.kind].strategy(dependencies),
        get_handlers={
            **{(GROUP, "components", name): pages[name] for name in (*PAGE_NAMES, UI_PAGE)},
            (GROUP, "pods", WHY_PAGE): pages[WHY_PAGE],
        },
        openapi_schemas={(GROUP, VERSION, kind): make_published_schema(kind) for kind in kinds},
    )


def _make_kind(info: KindInfo, strategy: Strategy, printer: Printer, default: DefaultFunction | None = None) -> Kind:
    names = {field.name: getattr(info, field.name) for field in fields(KindInfo)}
    return Kind(
        **names,
        strategy=lambda _: strategy,
        defaults={} if default is None else {VERSION: default},
        printer=printer,
    )
