"""PodTolerationRestriction: a namespace says what its pods tolerate, and what they may."""

import json
from typing import Final

from mockkube.api.kinds.core.pod.quality_of_service import quality_of
from mockkube.api.types import Object
from mockkube.apiserver.admission.tolerations import merge, within
from mockkube.apiserver.registry.admission import Operation, Plugin, Request
from mockkube.apiserver.registry.resource import result_without_reason

DEFAULTS: Final = "scheduler.alpha.kubernetes.io/defaultTolerations"
ALLOWED: Final = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_MEMORY_PRESSURE: Final = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}


class PodTolerationRestriction(Plugin):
    """Merges the default tolerations of the namespace into pods, and holds them to what is allowed there."""

    # upstream 1.36: plugin/pkg/admission/podtolerationrestriction/admission.go
    name = "PodTolerationRestriction"

    def admit(self, request: Request) -> None:
        """Complete the tolerations of a pod, then judge them."""
        if not request.about("", "pods"):
            return
        spec = request.given["spec"]
        extra = _annotated(request, DEFAULTS) if request.operation is Operation.CREATE else []
        if quality_of(spec, request.resource.services.caps) != "BestEffort":
            extra.append(dict(_MEMORY_PRESSURE))
        if extra:
            spec["tolerations"] = merge(spec.get("tolerations") or [], extra)
        self.validate(request)

    def validate(self, request: Request) -> None:
        """Refuse tolerations the namespace does not allow."""
        if not request.about("", "pods"):
            return
        if not within(request.given["spec"].get("tolerations") or [], _annotated(request, ALLOWED)):
            why = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace"
            raise result_without_reason(500, f"{why} whitelist")


def _annotated(request: Request, annotation: str) -> list[Object]:
    """The tolerations an annotation of the namespace lists."""
    record = request.find("", "namespaces").record("", request.call.namespace)
    annotations = record.load()["metadata"].get("annotations") or {} if record is not None else {}
    try:
        listed = json.loads(annotations.get(annotation) or "[]")
    except ValueError as error:
        raise result_without_reason(500, str(error)) from error
    return listed if isinstance(listed, list) else []
