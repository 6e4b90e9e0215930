"""Index of pods by the PersistentVolumeClaims that they use.

upstream 1.36: pkg/controller/volume/common/common.go, component-helpers/storage/ephemeral
"""

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Indexer, Informer
from mockkube.client.protocol import Key, key_of
from mockkube.controllers.framework.controller_ref_manager import controller_uid
from mockkube.matching.pod_claims import volume_claims


def pods_by_claim(pods: Informer) -> Indexer:
    """Return the index of pods by the claims they may use, as `namespace/name`."""
    return pods.index("claims", _index_by_claim)


def _index_by_claim(pod: ReadOnlyObject) -> list[str]:
    namespace = pod["metadata"]["namespace"]
    return [str(Key(namespace, name)) for name, _ in volume_claims(pod) if name]


def uses_claim(pod: ReadOnlyObject, claim: ReadOnlyObject, *, ephemeral: bool = True) -> bool:
    """Return whether a pod uses a claim; with `ephemeral` also a claim generated for it."""
    # A claim of a generated name that the pod does not control belongs to somebody else: the pod must not use it.
    own = ephemeral and controller_uid(claim) == pod["metadata"]["uid"]
    name = key_of(claim).name
    return any(used == name and (own or not generated) for used, generated in volume_claims(pod))
