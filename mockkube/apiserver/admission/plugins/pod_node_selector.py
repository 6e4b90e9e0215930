"""PodNodeSelector: restrict the pods of a namespace to nodes, by an annotation of the namespace."""

from typing import Final

from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.apiserver.registry.resource import error_without_reason

NODE_SELECTOR_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/node-selector"
_CONFLICT: Final = "pod node label selector conflicts with its namespace node label selector"


class PodNodeSelector(AdmissionPlugin):
    """Merges the node selector of the namespace into each pod's."""

    # upstream 1.36: plugin/pkg/admission/podnodeselector/admission.go
    name = "PodNodeSelector"
    resources = (("", "pods"),)

    def admit(self, request: AdmissionAttributes) -> None:
        """Merge the selectors; reject a pod whose own selector conflicts."""
        if request.operation is not Operation.CREATE or not request.is_for("", "pods"):
            return
        spec, wanted = request.new["spec"], _namespace_selector(request)
        given = spec.get("nodeSelector") or {}
        if any(given.get(label, value) != value for label, value in wanted.items()):
            raise new_forbidden(request, _CONFLICT)
        if wanted:
            spec["nodeSelector"] = {**wanted, **given}


def _namespace_selector(request: AdmissionAttributes) -> dict[str, str]:
    """Return the selector in the namespace's annotation, such as `zone=a,disk=ssd`."""
    cached = request.find_resource("", "namespaces").get_cached("", request.scope.namespace)
    annotations = cached.load()["metadata"].get("annotations") or {} if cached is not None else {}
    text = annotations.get(NODE_SELECTOR_ANNOTATION, "")
    pairs = [pair.split("=") for pair in text.split(",")] if text else []
    if any(len(pair) != 2 for pair in pairs):
        # upstream 1.36: apimachinery/pkg/labels/labels.go, ConvertSelectorToLabelsMap
        bad = next("=".join(pair) for pair in pairs if len(pair) != 2)
        raise error_without_reason(500, f"invalid selector: {bad}")
    return {key.strip(): value.strip() for key, value in pairs}
