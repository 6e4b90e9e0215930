"""The control kinds, and what each does beyond the generic."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mockkube.api.catalogue import STATUS, Kind, Subresource
from mockkube.apiserver.registry.registry import Family
from mockkube.cluster.configuration import ClusterConfiguration
from mockkube.cluster.control import clock, component, fault, snapshot
from mockkube.cluster.control.definitions import GROUP, VERSION, published

_READ: Final = ("get",)
PAGES: Final = ("flagz", "metrics", "statusz")
"""What is served below a component, as it would be on a port of its own."""
WHY: Final = "why"
"""What is told of a pod."""

Pages = Mapping[str, Callable[[Any], Any]]


def _kind(kind: str, plural: str, *short_names: str, pages: tuple[Subresource, ...] = ()) -> Kind:
    return Kind(
        GROUP,
        kind,
        plural,
        namespaced=False,
        short_names=short_names,
        versions=(VERSION,),
        subresources=(STATUS, *pages),
    )


KINDS: Final = (
    _kind("Clock", "clocks"),
    _kind("Component", "components", "comp", pages=tuple(Subresource(name, "Component", _READ) for name in PAGES)),
    _kind("Fault", "faults"),
    _kind("Snapshot", "snapshots", "snap"),
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rules of the control kinds look at besides the object."""

    configuration: ClusterConfiguration
    components: component.All
    revision: Callable[[], int]
    """The newest revision of the cluster's store."""


def family(facts: Facts, pages: Pages) -> Family:
    """Return the control kinds of one cluster; `pages` are those below a component or a pod, by their name."""
    configuration = facts.configuration
    time = clock.ClockStrategy(configuration.clock)
    return Family(
        kinds=KINDS,
        strategies={
            (GROUP, "Clock"): time,
            (GROUP, "Component"): component.ComponentStrategy(configuration, facts.components),
            (GROUP, "Fault"): fault.FaultStrategy(facts.revision),
            (GROUP, "Snapshot"): snapshot.SnapshotStrategy(facts.revision),
        },
        defaults={
            (GROUP, VERSION, "Clock"): lambda obj, _: time.default(obj),
            (GROUP, VERSION, "Component"): component.Defaults(configuration, facts.components),
        },
        printers={
            (GROUP, "Clock"): clock.PRINTER,
            (GROUP, "Component"): component.PRINTER,
            (GROUP, "Fault"): fault.PRINTER,
            (GROUP, "Snapshot"): snapshot.PRINTER,
        },
        pages={**{(GROUP, "components", name): pages[name] for name in PAGES}, (GROUP, "pods", WHY): pages[WHY]},
        published={(GROUP, VERSION, kind.kind): published(kind.kind) for kind in KINDS},
    )
