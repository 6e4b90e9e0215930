"""PodTolerationRestriction: add the default tolerations of a namespace to its pods, and enforce its allowed ones."""

import json
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.api.kinds.core.pod.qos import compute_pod_qos
from mockkube.apiserver.admission.plugins.tolerations import are_allowed, merge_tolerations
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.apiserver.registry.resource import error_without_reason

DEFAULT_TOLERATIONS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/defaultTolerations"
ALLOWED_TOLERATIONS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_MEMORY_PRESSURE: Final = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}


class PodTolerationRestriction(AdmissionPlugin):
    """Merges the default tolerations of the namespace into pods, and rejects tolerations it does not allow."""

    # upstream 1.36: plugin/pkg/admission/podtolerationrestriction/admission.go
    name = "PodTolerationRestriction"
    resources = (("", "pods"),)

    def admit(self, request: AdmissionAttributes) -> None:
        """Complete the tolerations of a pod, then check them."""
        if not request.is_for("", "pods"):
            return
        spec = request.new["spec"]
        extra = (
            _annotated_tolerations(request, DEFAULT_TOLERATIONS_ANNOTATION)
            if request.operation is Operation.CREATE
            else []
        )
        if compute_pod_qos(spec, request.resource.dependencies.capabilities) != "BestEffort":
            extra.append(dict(_MEMORY_PRESSURE))
        if extra:
            spec["tolerations"] = merge_tolerations(spec.get("tolerations") or [], extra)
        self.validate(request)

    def validate(self, request: AdmissionAttributes) -> None:
        """Reject tolerations that the namespace does not allow."""
        if not request.is_for("", "pods"):
            return
        if not are_allowed(
            request.new["spec"].get("tolerations") or [],
            _annotated_tolerations(request, ALLOWED_TOLERATIONS_ANNOTATION),
        ):
            why = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace"
            raise error_without_reason(500, f"{why} whitelist")


def _annotated_tolerations(request: AdmissionAttributes, annotation: str) -> list[Object]:
    """Return the tolerations in an annotation of the namespace."""
    cached = request.find_resource("", "namespaces").get_cached("", request.scope.namespace)
    annotations = cached.load()["metadata"].get("annotations") or {} if cached is not None else {}
    try:
        listed = json.loads(annotations.get(annotation) or "[]")
    except ValueError as error:
        raise error_without_reason(500, str(error)) from error
    return listed if isinstance(listed, list) else []
