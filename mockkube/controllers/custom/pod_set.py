"""Controller of a custom resource: keeps `spec.replicas` pods of `spec.template` for each of its objects.

Pods are named after their object with an index, as by many custom controllers. The template is copied as it is: an
API server does not validate it in the custom resource, only in the pods.
"""

from typing import ClassVar, Final

import orjson

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, key_of
from mockkube.controllers.custom.custom_kind import CustomKind
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.controllers.framework.owner_index import find_owned, resolve_controller_ref
from mockkube.controllers.pods.pod_control import PodControl, pod_from_template
from mockkube.matching.pods import is_finished

# Annotation of a pod with the template that it was made from.
TEMPLATE_ANNOTATION: Final = "mockkube.dev/template"


class PodSetController(Controller):
    """Controller of one custom resource; keys are its objects."""

    name: ClassVar[str] = "pod-set-controller"

    def __init__(self, dependencies: ControllerDependencies, kind: CustomKind) -> None:
        super().__init__(dependencies)
        self._kind = kind
        self.owners = self.watched_informer(kind.qualified)
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        self._pod_control = PodControl(self.client, self.events)

    def _on_pod_change(self, change: ObjectChange) -> None:
        for pod in (change.object, change.old):
            owner = None if pod is None else resolve_controller_ref(self.owners, self._kind.kind, pod)
            if owner is not None:
                self.work_queue.add(key_of(owner))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Delete pods that have ended, that are too many or of a former template; create those that are missing."""
        owner = self.owners.get(key)
        if owner is None or has_deletion_timestamp(owner):
            return DONE
        pods = {pod["metadata"]["name"]: pod for pod in find_owned(self.pods, owner["metadata"]["uid"])}
        wanted = self._make_pods(owner)
        for name, pod in pods.items():
            if not has_deletion_timestamp(pod) and _is_outdated(pod, wanted.get(name)):
                await self._delete(pod, owner)
        for name, pod in wanted.items():
            if name not in pods:
                await self._pod_control.create(pod, owner)
        return DONE

    def _make_pods(self, owner: ReadOnlyObject) -> dict[str, Object]:
        """Return the pods that an object is to have, by name."""
        spec: ReadOnlyObject = owner.get("spec") or {}
        template: ReadOnlyObject = spec.get("template") or {}
        if not template.get("spec"):
            return {}
        pod = pod_from_template(template, owner, self._kind.api_version, self._kind.kind)
        metadata = pod["metadata"]
        prefix = metadata.pop("generateName")
        annotations = {**metadata.get("annotations", {}), TEMPLATE_ANNOTATION: _serialize(template)}
        names = [f"{prefix}{index}" for index in range(int(spec.get("replicas", 1)))]
        return {name: {**pod, "metadata": {**metadata, "name": name, "annotations": annotations}} for name in names}

    async def _delete(self, pod: ReadOnlyObject, owner: ReadOnlyObject) -> None:
        try:
            await self._pod_control.delete(key_of(pod), owner)
        except NotFound:
            return


def _is_outdated(pod: ReadOnlyObject, wanted: ReadOnlyObject | None) -> bool:
    if wanted is None or is_finished(pod):
        return True
    made_of, template = (one["metadata"].get("annotations", {}).get(TEMPLATE_ANNOTATION) for one in (pod, wanted))
    return bool(made_of != template)


def _serialize(template: ReadOnlyObject) -> str:
    return orjson.dumps(template, option=orjson.OPT_SORT_KEYS).decode()
