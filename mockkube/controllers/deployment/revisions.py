"""Revisions of a deployment: the new replica set, revision numbers and annotations of sets.

upstream 1.36: pkg/controller/deployment/util/deployment_util.go
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from mockkube.api import names
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.controllers.deployment.scaling import DESIRED, MAX, desired_replicas, max_surge
from mockkube.controllers.framework.controller_ref_manager import new_controller_ref
from mockkube.controllers.pods.template_hash import template_hash

REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"
HASH_LABEL: Final = "pod-template-hash"
HISTORY_LENGTH_MAX: Final = 2000
_NOT_COPIED: Final = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", REVISION, HISTORY, DESIRED, MAX, ROLLBACK_TO}
)


def annotations_of(obj: ReadOnlyObject) -> Mapping[str, str]:
    """Return the annotations of an object."""
    annotations: Mapping[str, str] = obj["metadata"].get("annotations") or {}
    return annotations


def with_annotations(obj: ReadOnlyObject, annotations: Mapping[str, str]) -> Object:
    """Return the object with its annotations replaced."""
    return {**obj, "metadata": {**obj["metadata"], "annotations": dict(annotations)}}


def revision_of(obj: ReadOnlyObject) -> int:
    """Return the revision number in an object's annotations; zero if there is none."""
    text = annotations_of(obj).get(REVISION, "")
    return int(text) if text.removeprefix("-").isdecimal() else 0


def template_without_hash(obj: ReadOnlyObject) -> ReadOnlyObject:
    """Return the pod template of a deployment or set without the pod-template-hash label."""
    template: ReadOnlyObject = obj["spec"]["template"]
    labels = (template.get("metadata") or {}).get("labels") or {}
    if HASH_LABEL not in labels:
        return template
    others = {name: value for name, value in labels.items() if name != HASH_LABEL}
    return {**template, "metadata": {**template["metadata"], "labels": others}}


def sort_by_age(sets: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
    """Return sets, the oldest first."""
    return sorted(sets, key=lambda one: (one["metadata"].get("creationTimestamp", ""), one["metadata"]["name"]))


def find_new_replica_set(deployment: ReadOnlyObject, sets: Iterable[ReadOnlyObject]) -> ReadOnlyObject | None:
    """Return the oldest set that has the deployment's pod template."""
    template = template_without_hash(deployment)
    # As upstream, the oldest: in rare cases there are several with the same template, and the choice must be stable.
    return next((one for one in sort_by_age(sets) if template_without_hash(one) == template), None)


def new_set_annotations(
    deployment: ReadOnlyObject, annotations: Mapping[str, str], revision: int, *, exists: bool
) -> dict[str, str]:
    """Return the annotations of the new set: the deployment's, revision, history and sizes."""
    result = dict(annotations)
    result.update((name, text) for name, text in annotations_of(deployment).items() if name not in _NOT_COPIED)
    known = annotations.get(REVISION)
    if known and not known.removeprefix("-").isdecimal():
        return result
    # A rollback reuses an old set: it gets the newest revision number, and its former ones go to the history.
    if int(known or 0) < revision:
        result[REVISION] = str(revision)
        if known is not None and (history := _append_to_history(result.get(HISTORY, ""), known)):
            result[HISTORY] = history
    if not exists:
        result |= replicas_annotations(deployment)
    return result


def _append_to_history(history: str, known: str) -> str:
    """Return the history with one more revision, without the oldest if it gets too long."""
    kept = [*history.split(","), known] if history else [known]
    while len(kept) > 1 and len(",".join(kept)) > HISTORY_LENGTH_MAX:
        del kept[0]
    return ",".join(kept)


def replicas_annotations(deployment: ReadOnlyObject) -> dict[str, str]:
    """Return the annotations of a set that hold the size of its deployment."""
    return {DESIRED: str(desired_replicas(deployment)), MAX: str(desired_replicas(deployment) + max_surge(deployment))}


def new_replica_set(deployment: ReadOnlyObject, revision: int) -> Object:
    """Return a new set for the deployment's pod template, without replicas."""
    metadata, spec = deployment["metadata"], deployment["spec"]
    template = spec["template"]
    hash_value = template_hash(template, (deployment.get("status") or {}).get("collisionCount", 0))
    labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: hash_value}
    selector = spec["selector"]
    new_set: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": _set_name(metadata["name"], hash_value),
            "namespace": metadata["namespace"],
            "labels": labels,
            "annotations": new_set_annotations(deployment, {}, revision, exists=False),
            "ownerReferences": [new_controller_ref(deployment, "apps/v1", "Deployment")],
        },
        "spec": {
            "replicas": 0,
            "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: hash_value}},
            "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
        },
    }
    if seconds := spec.get("minReadySeconds"):
        new_set["spec"]["minReadySeconds"] = seconds
    return new_set


def _set_name(deployment: str, hash_value: str) -> str:
    # The deployment's name is cut so that the hash always fits; upstream does the same.
    return f"{deployment[: names.SUBDOMAIN_LENGTH_MAX - len(hash_value) - 1]}-{hash_value}"


def last_revision(sets: Sequence[ReadOnlyObject]) -> int:
    """Return the second highest revision; zero if there is none."""
    revisions = sorted((revision_of(one) for one in sets), reverse=True)
    return revisions[1] if len(revisions) > 1 else 0


def with_rolled_back_template(deployment: ReadOnlyObject, replica_set: ReadOnlyObject) -> Object:
    """Return the deployment with template and annotations of an older set."""
    # Annotations that are never copied to sets stay the deployment's own; all others are restored from the set.
    own = {name: text for name, text in annotations_of(deployment).items() if name in _NOT_COPIED}
    theirs = {name: text for name, text in annotations_of(replica_set).items() if name not in _NOT_COPIED}
    changed = with_annotations(deployment, {**own, **theirs})
    return {**changed, "spec": {**deployment["spec"], "template": template_without_hash(replica_set)}}
