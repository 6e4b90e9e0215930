"""Status of a node group."""

from collections.abc import Collection, Sequence

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.nodegroups.node_group import NodeGroup, price_of
from mockkube.nodegroups.scale_down import is_being_removed


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """Numbers of nodes of a group by state, and what they cost per hour."""

    size: int
    ready: int
    coming: int
    unneeded: int
    leaving: int
    consolidated: int
    price_per_hour: float

    def as_json(self) -> Object:
        """Return the status as the object has it."""
        return {
            "size": self.size,
            "ready": self.ready,
            "coming": self.coming,
            "unneeded": self.unneeded,
            "leaving": self.leaving,
            "consolidated": self.consolidated,
            "pricePerHour": f"{self.price_per_hour:.4f}".rstrip("0").rstrip("."),
        }


def summarize_group(
    group: NodeGroup, nodes: Sequence[ReadOnlyObject], coming: int, unneeded: Collection[str], consolidated: int
) -> GroupStatus:
    """Return the status of a group from its nodes, and the numbers of those that come and that were consolidated."""
    leaving = sum(map(is_being_removed, nodes))
    return GroupStatus(
        size=len(nodes) - leaving + coming,
        ready=sum(map(is_ready, nodes)),
        coming=coming,
        unneeded=sum(node["metadata"]["name"] in unneeded for node in nodes),
        leaving=leaving,
        consolidated=consolidated,
        price_per_hour=round(sum(price_of(node, [group]) for node in nodes), 6),
    )


def is_ready(node: ReadOnlyObject) -> bool:
    """Return whether a node's condition Ready is True."""
    condition = find_condition((node.get("status") or {}).get("conditions") or (), "Ready")
    return condition is not None and condition.get("status") == "True"
