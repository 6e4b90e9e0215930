"""Which claims a pod uses: those it names, and those made for its ephemeral volumes.

upstream 1.36: pkg/controller/volume/common/common.go, component-helpers/storage/ephemeral
"""

from collections.abc import Iterator

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Index, ListWatch
from mockkube.client.protocol import Key, key_of
from mockkube.controllers.ownership import controller_uid


def ephemeral_name(pod: ReadOnlyObject, volume: ReadOnlyObject) -> str:
    """Return the name of the claim made for an ephemeral volume."""
    return f"{pod['metadata']['name']}-{volume['name']}"


def claim_names(pod: ReadOnlyObject) -> Iterator[str]:
    """Return the names of the claims a pod may use, in the order of its volumes."""
    for volume in pod["spec"].get("volumes", ()):
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"].get("claimName", "")
        elif "ephemeral" in volume:
            yield ephemeral_name(pod, volume)


def pods_by_claim(pods: ListWatch) -> Index:
    """Return the index of pods by the claims they may use, as `namespace/name`."""
    return pods.index("claims", _claims)


def _claims(pod: ReadOnlyObject) -> list[str]:
    namespace = pod["metadata"]["namespace"]
    return [str(Key(namespace, name)) for name in claim_names(pod) if name]


def uses(pod: ReadOnlyObject, claim: ReadOnlyObject, *, ephemeral: bool = True) -> bool:
    """Whether a pod uses a claim; `ephemeral` says whether claims made for it count."""
    name = key_of(claim).name
    for volume in pod["spec"].get("volumes", ()):
        if volume.get("persistentVolumeClaim", {}).get("claimName") == name:
            return True
        made = ephemeral and "ephemeral" in volume and ephemeral_name(pod, volume) == name
        if made and controller_uid(claim) == pod["metadata"]["uid"]:
            return True
    return False
