"""PodTolerationRestriction: add the default tolerations of a namespace to its pods, and enforce its allowed ones."""

import json
from typing import Final

from mockkube.api.kinds.core.pod.quality_of_service import compute_pod_qos
from mockkube.api.types import Object
from mockkube.apiserver.admission.tolerations import merge, within
from mockkube.apiserver.registry.admission import Operation, Plugin, Request
from mockkube.apiserver.registry.resource import result_without_reason

DEFAULTS: Final = "scheduler.alpha.kubernetes.io/defaultTolerations"
ALLOWED: Final = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_MEMORY_PRESSURE: Final = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}


class PodTolerationRestriction(Plugin):
    """Merges the default tolerations of the namespace into pods, and rejects tolerations it does not allow."""

    # upstream 1.36: plugin/pkg/admission/podtolerationrestriction/admission.go
    name = "PodTolerationRestriction"

    def admit(self, request: Request) -> None:
        """Complete the tolerations of a pod, then check them."""
        if not request.about("", "pods"):
            return
        spec = request.given["spec"]
        extra = _annotated(request, DEFAULTS) if request.operation is Operation.CREATE else []
        if compute_pod_qos(spec, request.resource.services.caps) != "BestEffort":
            extra.append(dict(_MEMORY_PRESSURE))
        if extra:
            spec["tolerations"] = merge(spec.get("tolerations") or [], extra)
        self.validate(request)

    def validate(self, request: Request) -> None:
        """Reject tolerations that the namespace does not allow."""
        if not request.about("", "pods"):
            return
        if not within(request.given["spec"].get("tolerations") or [], _annotated(request, ALLOWED)):
            why = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace"
            raise result_without_reason(500, f"{why} whitelist")


def _annotated(request: Request, annotation: str) -> list[Object]:
    """Return the tolerations in an annotation of the namespace."""
    record = request.find("", "namespaces").record("", request.call.namespace)
    annotations = record.load()["metadata"].get("annotations") or {} if record is not None else {}
    try:
        listed = json.loads(annotations.get(annotation) or "[]")
    except ValueError as error:
        raise result_without_reason(500, str(error)) from error
    return listed if isinstance(listed, list) else []
