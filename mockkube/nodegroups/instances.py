"""Instances that were ordered: their nodes register after a while, and become ready."""

from collections.abc import Iterable, Mapping
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key
from mockkube.lazy_dataclasses import dataclass
from mockkube.nodegroups.group_status import is_ready
from mockkube.nodegroups.node_group import NodeGroup, NodeTemplate
from mockkube.runtime.clock import Clock

# A registered node that is not ready for longer than this is not waited for any more.
_READY_SECONDS_MAX: Final = 900.0
_RETRY_SECONDS: Final = 10.0


@dataclass(slots=True)
class _Instance:
    """Ordered instance: when its node registers, or did."""

    template: NodeTemplate
    at: float
    ready_node: Object
    is_registered: bool = False


class Instances:
    """Instances that are on the way, by the name of their node."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._instances: dict[str, _Instance] = {}
        self._last_numbers: dict[str, int] = {}

    def keep_groups(self, groups: Iterable[NodeGroup]) -> None:
        """Forget instances of groups that are gone."""
        names = {group.name for group in groups}
        self._instances = {name: one for name, one in self._instances.items() if one.template.group.name in names}

    def order(self, template: NodeTemplate, nodes: Mapping[Key, ReadOnlyObject]) -> str:
        """Order an instance; return the name of its node, which no node had before."""
        group = template.group
        number = self._last_numbers.get(group.name, 0) + 1
        while Key("", f"{group.name}-{number}") in nodes:
            number += 1
        self._last_numbers[group.name] = number
        name = f"{group.name}-{number}"
        self._instances[name] = _Instance(
            template, self._clock.monotonic() + group.provision_seconds, template.make_ready_node(name)
        )
        return name

    def due_at(self) -> float | None:
        """Return when the next node registers."""
        return min((one.at for one in self._instances.values() if not one.is_registered), default=None)

    async def register_due(self) -> None:
        """Create the nodes of instances that are there."""
        now = self._clock.monotonic()
        for name, instance in list(self._instances.items()):
            if instance.is_registered or instance.at > now:
                continue
            try:
                await self._client.create("Node", instance.template.make_node(name))
            except AlreadyExists:
                pass
            except ApiError:
                instance.at = now + _RETRY_SECONDS
                continue
            instance.is_registered = True

    def forget_ready(self, nodes: Mapping[Key, ReadOnlyObject]) -> None:
        """Forget instances whose node is ready, gone, or late."""
        now = self._clock.monotonic()
        for name, instance in list(self._instances.items()):
            if not instance.is_registered:
                continue
            node = nodes.get(Key("", name))
            is_late = now > instance.at + _READY_SECONDS_MAX
            if is_late or (node is None and now > instance.at) or (node is not None and is_settled(node)):
                del self._instances[name]

    def list_coming(self) -> list[ReadOnlyObject]:
        """Return all nodes that are on the way, as they will be."""
        return [one.ready_node for one in self._instances.values()]


def is_settled(node: ReadOnlyObject) -> bool:
    """Return whether a node is ready, and no taint says that it is not."""
    taints = (node.get("spec") or {}).get("taints") or ()
    return is_ready(node) and not any(taint["key"] == "node.kubernetes.io/not-ready" for taint in taints)
