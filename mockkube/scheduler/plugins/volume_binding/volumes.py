"""The volumes there are, as the scheduler takes them to be, compiled; and as a node's CSI drivers see them."""

from collections.abc import Mapping

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Change, ListWatch
from mockkube.client.protocol import EventType, Key
from mockkube.matching.csi_migration import Takeover, handle, taken_over_on, takeover_of, translated
from mockkube.matching.taints import Operator
from mockkube.matching.volumes import Volume, class_of
from mockkube.scheduler.framework.nodes import NodeInfo
from mockkube.scheduler.plugins.assumed import AssumedObjects


class Volumes:
    """PersistentVolumes. Each is compiled once per revision, and dropped with its object."""

    def __init__(self, cache: ListWatch, csi_nodes: ListWatch, operators: Mapping[str, Operator]) -> None:
        self.objects = AssumedObjects(cache)
        self._csi_nodes, self._operators = csi_nodes, operators
        self._by_class = cache.index("storage class", lambda volume: (class_of(volume),))
        self._compiled: dict[str, Volume] = {}
        self._translated: dict[str, tuple[ReadOnlyObject, Volume]] = {}
        cache.subscribe(self._forget)

    def get(self, name: str) -> Volume | None:
        """Return a volume by its name."""
        obj = self.objects.get(Key("", name))
        return None if obj is None else self.read(obj)

    def of_class(self, name: str) -> list[Volume]:
        """Return the volumes of a storage class, those the scheduler has just given away included."""
        return [self.read(obj) for obj in self.objects.in_place_of(self._by_class.get(name))]

    def fits(self, volume: Volume, node: NodeInfo) -> bool:
        """Whether the node can reach the volume, by the driver that may have taken it over there.

        Raises ValueError if that driver could make nothing of it.
        """
        takeover = takeover_of(volume.obj["spec"])
        if takeover is None or not takeover.begun:
            return volume.fits(node.labels)
        if not taken_over_on(self._csi_nodes.get(Key("", node.name)), takeover):
            return volume.fits(node.labels)
        known = self._translated.get(volume.name)
        if known is None or known[0] is not volume.obj:
            known = volume.obj, Volume.read(_taken_over(volume, takeover), self._operators)
            self._translated[volume.name] = known
        return known[1].fits(node.labels)

    def read(self, obj: ReadOnlyObject) -> Volume:
        """Return a volume compiled; anew only when it has changed."""
        name = obj["metadata"]["name"]
        volume = self._compiled.get(name)
        if volume is None or volume.obj is not obj:
            volume = self._compiled[name] = Volume.read(obj, self._operators)
        return volume

    def _forget(self, change: Change) -> None:
        if change.type is EventType.DELETED:
            name = change.object["metadata"]["name"]
            self._compiled.pop(name, None)
            self._translated.pop(name, None)


def _taken_over(volume: Volume, takeover: Takeover) -> ReadOnlyObject:
    try:
        handle(takeover, volume.obj["spec"][takeover.source], volume.labels)
    except ValueError as error:
        raise ValueError(f"could not translate pv: {error}") from None
    return translated(volume.obj, takeover)
