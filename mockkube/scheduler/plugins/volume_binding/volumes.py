"""PersistentVolumes, compiled, with assumed objects taken into account and CSI migration applied per node."""

from collections.abc import Iterable, Mapping, Sequence

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer, ObjectChange
from mockkube.client.protocol import Key, WatchEventType
from mockkube.matching.csi_migration import Migration, is_migrated_on, migration_of, translate_topology, volume_handle
from mockkube.matching.node_selectors import LabelOperator
from mockkube.matching.volumes import ClaimRequirements, CompiledVolume, satisfies, storage_class_of
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.plugins.assume_cache import AssumeCache


class CandidateVolumes:
    """Volumes that suit a claim, indexed by the node label that pins them."""

    def __init__(self, volumes: Iterable[CompiledVolume]) -> None:
        self._anywhere: list[CompiledVolume] = []
        self._pinned: dict[str, dict[str, list[CompiledVolume]]] = {}
        for volume in volumes:
            # A volume that is reserved for the claim is a candidate on all nodes: where it does not fit, the node is
            # rejected.
            if volume.required_label is None or volume.has_claim_ref:
                self._anywhere.append(volume)
                continue
            by_value = self._pinned.setdefault(volume.required_label.key, {})
            for value in volume.required_label.values:
                by_value.setdefault(value, []).append(volume)

    def reachable_from(self, labels: Mapping[str, str]) -> Sequence[CompiledVolume]:  # hot: per node
        """Return the volumes that a node with these labels may reach."""
        volumes = self._anywhere
        for key, by_value in self._pinned.items():
            if (pinned := by_value.get(labels.get(key, ""))) is not None:
                volumes = [*volumes, *pinned]
        return volumes


class VolumeLister:
    """PersistentVolumes, compiled once per revision and dropped with their objects."""

    def __init__(self, informer: Informer, csi_nodes: Informer, operators: Mapping[str, LabelOperator]) -> None:
        self.objects = AssumeCache(informer)
        self._csi_nodes, self._operators = csi_nodes, operators
        self._by_class = informer.index("storage class", lambda volume: (storage_class_of(volume),))
        self._compiled: dict[str, CompiledVolume] = {}
        self._translated: dict[str, tuple[ReadOnlyObject, CompiledVolume]] = {}
        informer.add_event_handler(self._on_change)

    def get(self, name: str) -> CompiledVolume | None:
        """Return a volume by its name."""
        obj = self.objects.get(Key("", name))
        return None if obj is None else self.compile(obj)

    def find_candidates(self, requirements: ClaimRequirements) -> CandidateVolumes:
        """Return the volumes that suit a claim; an assumed volume counts as reserved for its claim."""
        objs = self.objects.overlay(self._by_class.get(requirements.storage_class))
        volumes = (self.compile(obj) for obj in objs)
        return CandidateVolumes(volume for volume in volumes if satisfies(requirements, volume, on_node=True))

    def fits(self, volume: CompiledVolume, node: NodeInfo) -> bool:
        """Return whether the node can reach the volume, through a migrated CSI driver where there is one.

        Raises ValueError if the volume cannot be translated for that driver.
        """
        migration = migration_of(volume.obj["spec"])
        if migration is None or not migration.known_to_scheduler:
            return volume.is_reachable_from(node.labels)
        if not is_migrated_on(self._csi_nodes.get(Key("", node.name)), migration):
            return volume.is_reachable_from(node.labels)
        # A translated volume has other topology labels; translating it for each node would be slow.
        translated = self._translated.get(volume.name)
        if translated is None or translated[0] is not volume.obj:
            translated = volume.obj, CompiledVolume.from_object(_translate_to_csi(volume, migration), self._operators)
            self._translated[volume.name] = translated
        return translated[1].is_reachable_from(node.labels)

    def compile(self, obj: ReadOnlyObject) -> CompiledVolume:
        """Return a compiled volume, compiled again only when it has changed."""
        name = obj["metadata"]["name"]
        volume = self._compiled.get(name)
        if volume is None or volume.obj is not obj:
            volume = self._compiled[name] = CompiledVolume.from_object(obj, self._operators)
        return volume

    def _on_change(self, change: ObjectChange) -> None:
        if change.type is WatchEventType.DELETED:
            name = change.object["metadata"]["name"]
            self._compiled.pop(name, None)
            self._translated.pop(name, None)


def _translate_to_csi(volume: CompiledVolume, migration: Migration) -> ReadOnlyObject:
    try:
        volume_handle(migration, volume.obj["spec"][migration.source], volume.labels)
    except ValueError as error:
        raise ValueError(f"could not translate pv: {error}") from None
    return translate_topology(volume.obj, migration)
