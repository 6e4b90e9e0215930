"""PodNodeSelector: restrict the pods of a namespace to nodes, by an annotation of the namespace."""

from typing import Final

from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Operation, Plugin, Request
from mockkube.apiserver.registry.resource import result_without_reason

ANNOTATION: Final = "scheduler.alpha.kubernetes.io/node-selector"
_CONFLICT: Final = "pod node label selector conflicts with its namespace node label selector"


class PodNodeSelector(Plugin):
    """Merges the node selector of the namespace into each pod's."""

    # upstream 1.36: plugin/pkg/admission/podnodeselector/admission.go
    name = "PodNodeSelector"

    def admit(self, request: Request) -> None:
        """Merge the selectors; reject a pod whose own selector conflicts."""
        if request.operation is not Operation.CREATE or not request.about("", "pods"):
            return
        spec, wanted = request.given["spec"], _selector(request)
        given = spec.get("nodeSelector") or {}
        if any(given.get(label, value) != value for label, value in wanted.items()):
            raise refuse(request, _CONFLICT)
        if wanted:
            spec["nodeSelector"] = {**wanted, **given}


def _selector(request: Request) -> dict[str, str]:
    """Return the selector in the namespace's annotation, such as `zone=a,disk=ssd`."""
    record = request.find("", "namespaces").record("", request.call.namespace)
    annotations = record.load()["metadata"].get("annotations") or {} if record is not None else {}
    text = annotations.get(ANNOTATION, "")
    pairs = [pair.split("=") for pair in text.split(",")] if text else []
    if any(len(pair) != 2 for pair in pairs):
        # upstream 1.36: apimachinery/pkg/labels/labels.go, ConvertSelectorToLabelsMap
        bad = next("=".join(pair) for pair in pairs if len(pair) != 2)
        raise result_without_reason(500, f"invalid selector: {bad}")
    return {key.strip(): value.strip() for key, value in pairs}
