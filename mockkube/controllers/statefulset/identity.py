"""Identity of a StatefulSet's pods: names, ordinals, labels, volumes.

upstream 1.36: pkg/controller/statefulset/stateful_set_utils.go
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.controllers.pods.pod_control import pod_from_template
from mockkube.controllers.pods.template_hash import HASH_LABEL

KIND: Final = "StatefulSet"
API_VERSION: Final = "apps/v1"
POD_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
_MEMBER: Final = re.compile(r"(.*)-([0-9]+)", re.DOTALL)
_ORDINAL_MAX: Final = 2**31 - 1


def parent_name(pod: ReadOnlyObject) -> str:
    """Return the name of a pod's set, from the pod's name; empty if it has no ordinal."""
    found = _MEMBER.fullmatch(pod["metadata"]["name"])
    return found[1] if found else ""


def ordinal_of(pod: ReadOnlyObject) -> int:
    """Return the ordinal at the end of a pod's name; -1 if there is none."""
    found = _MEMBER.fullmatch(pod["metadata"]["name"])
    number = int(found[2]) if found else -1
    return number if number <= _ORDINAL_MAX else -1


def pod_name(owner: ReadOnlyObject, ordinal: int) -> str:
    """Return the name of the pod of an ordinal."""
    return f"{owner['metadata']['name']}-{ordinal}"


def ordinals(owner: ReadOnlyObject) -> range:
    """Return the ordinals of the wanted replicas."""
    spec = owner["spec"]
    start = (spec.get("ordinals") or {}).get("start", 0)
    return range(start, start + spec.get("replicas", 1))


def pod_revision(pod: ReadOnlyObject) -> str:
    """Return the name of the revision a pod was created from."""
    revision: str = (pod["metadata"].get("labels") or {}).get(HASH_LABEL, "")
    return revision


def claim_templates(owner: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    """Return the volumeClaimTemplates of a set."""
    templates: Sequence[ReadOnlyObject] = owner["spec"].get("volumeClaimTemplates") or ()
    return templates


def claim_name(owner: ReadOnlyObject, template: ReadOnlyObject, ordinal: int) -> str:
    """Return the name of the claim for a template and an ordinal."""
    return f"{template['metadata']['name']}-{pod_name(owner, ordinal)}"


def identity_matches(owner: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    """Return whether a pod has the name and the pod-name label of its ordinal."""
    metadata, ordinal = pod["metadata"], ordinal_of(pod)
    named = ordinal >= 0 and metadata["name"] == pod_name(owner, ordinal)
    return named and (metadata.get("labels") or {}).get(POD_NAME_LABEL) == metadata["name"]


def storage_matches(owner: ReadOnlyObject, pod: ReadOnlyObject) -> bool:
    """Return whether a pod's volumes use its claims."""
    ordinal = ordinal_of(pod)
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}

    def is_mounted(template: ReadOnlyObject) -> bool:
        claim = (volumes.get(template["metadata"]["name"]) or {}).get("persistentVolumeClaim") or {}
        return bool(claim.get("claimName") == claim_name(owner, template, ordinal))

    # Additional volumes are allowed: admission plugins add some.
    return ordinal >= 0 and all(is_mounted(template) for template in claim_templates(owner))


def with_identity(owner: ReadOnlyObject, pod: ReadOnlyObject, ordinal: int) -> Object:
    """Return a pod with the name and the labels of an ordinal."""
    name, metadata = pod_name(owner, ordinal), pod["metadata"]
    labels = {**(metadata.get("labels") or {}), POD_NAME_LABEL: name, POD_INDEX_LABEL: str(ordinal)}
    return {**pod, "metadata": {**metadata, "name": name, "labels": labels}}


def with_storage(owner: ReadOnlyObject, pod: ReadOnlyObject) -> Object:
    """Return a pod with volumes for its claims, in place of template volumes of the same name."""
    own = pod["spec"].get("volumes") or ()
    names = [template["metadata"]["name"] for template in claim_templates(owner)]
    volumes = [*_claim_volumes(owner, ordinal_of(pod)), *(volume for volume in own if volume["name"] not in names)]
    return {**pod, "spec": {**pod["spec"], "volumes": volumes}} if volumes else dict(pod)


def _claim_volumes(owner: ReadOnlyObject, ordinal: int) -> Iterator[Object]:
    # differs: in the order of the templates, where upstream's is a map's
    for template in claim_templates(owner):
        claim = {"claimName": claim_name(owner, template, ordinal)}
        yield {"name": template["metadata"]["name"], "persistentVolumeClaim": claim}


def new_stateful_pod(owner: ReadOnlyObject, revision: str, ordinal: int) -> Object:
    """Return the pod of an ordinal for a revision of the set."""
    unnamed_pod = pod_from_template(owner["spec"]["template"], owner, API_VERSION, KIND, labels={HASH_LABEL: revision})
    pod = with_identity(owner, unnamed_pod, ordinal)
    network = {"hostname": pod["metadata"]["name"], "subdomain": owner["spec"].get("serviceName", "")}
    pod["spec"] = {**pod["spec"], **{name: value for name, value in network.items() if value}}
    return with_storage(owner, pod)
