"""Assume the volumes found for a pod, write their bindings, and wait until they are bound.

upstream 1.36: pkg/scheduler/framework/plugins/volumebinding/binder.go (AssumePodVolumes, BindPodVolumes)
"""

from dataclasses import field

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.informer import Informer
from mockkube.client.protocol import Client, Key, key_of
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.volumes import SELECTED_NODE, bind_to_claim, is_fully_bound
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.assume_cache import AssumeCache, resource_version
from mockkube.scheduler.plugins.volume_binding.volume_finder import PodVolumes
from mockkube.scheduler.plugins.volume_binding.volumes import VolumeLister


@dataclass(slots=True)
class BindingPair:
    """Volume to bind to a claim, in its latest revision or with the binding to write."""

    volume: ReadOnlyObject
    claim: ReadOnlyObject


@dataclass(slots=True)
class VolumeBindingPlan:
    """Bindings to write for a pod; `claims` are those whose volumes a provisioner creates."""

    node_name: str
    pairs: list[BindingPair] = field(default_factory=list)
    claims: list[ReadOnlyObject] = field(default_factory=list)
    expires_at: float | None = None
    """Deadline for the bindings; None before all are written."""


class VolumeBindingError(Exception):
    """Error that ends the binding; the pod is scheduled again."""


class VolumeBinder:
    """Binds the volumes of assumed pods."""

    def __init__(
        self, client: Client, claims: AssumeCache, volumes: VolumeLister, nodes: NodeInfoLister, pods: Informer
    ) -> None:
        self._client, self._claims, self._volumes, self._nodes, self._pods = client, claims, volumes, nodes, pods

    def assume(self, pod_volumes: PodVolumes, node_name: str) -> VolumeBindingPlan:
        """Assume volumes and claims; on Failed, because one of them has changed, nothing stays assumed."""
        plan = VolumeBindingPlan(node_name)
        try:
            for match in pod_volumes.matches:
                bound = bind_to_claim(match.volume.obj, match.requirements.obj)
                if bound is not None:
                    _raise_if(self._volumes.objects.assume(bound))
                plan.pairs.append(BindingPair(bound or match.volume.obj, match.requirements.obj))
            for provision in pod_volumes.provisions:
                selected = _with_selected_node(provision.claim, node_name)
                _raise_if(self._claims.assume(selected))
                plan.claims.append(selected)
        except VolumeBindingError:
            self.revert(plan)
            raise
        return plan

    def revert(self, plan: VolumeBindingPlan) -> None:
        """Drop what is assumed and not written."""
        for pair in plan.pairs:
            self._volumes.objects.restore(pair.volume)
        for claim in plan.claims:
            self._claims.restore(claim)

    async def write(self, plan: VolumeBindingPlan) -> None:
        """Write the bindings; raise VolumeBindingError at the first error. What was written before it stays."""
        try:
            for pair in plan.pairs:
                # The answer has the new resourceVersion, which `is_bound` compares with the informers.
                pair.volume = await self._client.update("PersistentVolume", dict(pair.volume))
            for index, claim in enumerate(plan.claims):
                plan.claims[index] = await self._client.update("PersistentVolumeClaim", dict(claim))
        except ApiError as error:
            raise VolumeBindingError(error.message) from None

    def is_bound(self, plan: VolumeBindingPlan, pod: PodInfo) -> bool:
        """Return whether all claims are bound; raise VolumeBindingError if they will not be."""
        node = self._nodes.get(plan.node_name)
        if node is None:
            raise VolumeBindingError(f'failed to get node "{plan.node_name}": node "{plan.node_name}" not found')
        if self._pods.get(pod.key) is None:
            raise VolumeBindingError(f'pod does not exist any more: pod "{pod.name}" not found')
        return all(self._is_pair_bound(pair, node) for pair in plan.pairs) and all(
            self._is_provisioned(claim, node) for claim in plan.claims
        )

    def _is_pair_bound(self, pair: BindingPair, node: NodeInfo) -> bool:
        volume = self._current(self._volumes.objects, pair.volume, "persistentvolumes", "failed to check binding")
        claim = self._current(self._claims, pair.claim, "persistentvolumeclaims", "failed to check binding")
        # The informer has not seen our own write yet.
        if resource_version(pair.volume) > resource_version(volume):
            return False
        self._check_node_affinity(volume, node)
        name = volume["metadata"]["name"]
        if not (volume["spec"].get("claimRef") or {}).get("uid"):
            raise VolumeBindingError(f'ClaimRef got reset for pv "{name}"')
        return is_fully_bound(claim)

    def _is_provisioned(self, written: ReadOnlyObject, node: NodeInfo) -> bool:
        claim = self._current(self._claims, written, "persistentvolumeclaims", "failed to check provisioning pvc")
        if resource_version(written) > resource_version(claim):
            return False
        annotations = claim["metadata"].get("annotations")
        if annotations is None:
            raise VolumeBindingError(f'selectedNode annotation reset for PVC "{claim["metadata"]["name"]}"')
        # The provisioner removes the annotation when it cannot create a volume for this node.
        if annotations.get(SELECTED_NODE) != node.name:
            raise VolumeBindingError(f'provisioning failed for PVC "{claim["metadata"]["name"]}"')
        if volume_name := claim["spec"].get("volumeName"):
            volume = self._volumes.objects.informer.get(Key("", volume_name))
            # The claim's event may arrive before that of its new volume.
            if volume is None:
                return False
            self._check_node_affinity(volume, node)
        return is_fully_bound(claim)

    def _current(self, objects: AssumeCache, obj: ReadOnlyObject, resource: str, failure: str) -> ReadOnlyObject:
        key = key_of(obj)
        current = objects.informer.get(key)
        if current is None:
            raise VolumeBindingError(f'{failure}: {resource} "{key}" not found')
        return current

    def _check_node_affinity(self, volume: ReadOnlyObject, node: NodeInfo) -> None:
        name = volume["metadata"]["name"]
        compiled = self._volumes.compile(volume)
        try:
            fits = self._volumes.fits(compiled, node)
        except ValueError as error:
            raise VolumeBindingError(f"failed to translate pv to csi: {error}") from None
        if not fits:
            why = "no matching NodeSelectorTerms"
            raise VolumeBindingError(f'pv "{name}" node affinity doesn\'t match node "{node.name}": {why}')


def _raise_if(problem: str) -> None:
    if problem:
        raise VolumeBindingError(problem)


def _with_selected_node(claim: ReadOnlyObject, node_name: str) -> Object:
    metadata = claim["metadata"]
    annotations = {**(metadata.get("annotations") or {}), SELECTED_NODE: node_name}
    return {**claim, "metadata": {**metadata, "annotations": annotations}}
