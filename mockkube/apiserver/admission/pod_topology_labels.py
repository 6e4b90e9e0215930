"""PodTopologyLabels: copy zone and region of the node to the pod."""

from typing import Final

from mockkube.apiserver.registry.admission import Operation, Plugin, Request

_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels(Plugin):
    """Copies the topology labels of the node to the pod when it is bound, or created with a node."""

    # upstream 1.36: plugin/pkg/admission/podtopologylabels/admission.go
    name = "PodTopologyLabels"

    def admit(self, request: Request) -> None:
        """Label the pod; a missing node has no labels."""
        created = request.operation is Operation.CREATE and request.about("", "pods")
        if not created and not request.about("", "pods", "binding"):
            return
        name = request.given["spec"].get("nodeName")
        if not name or not request.resource.services.caps.enabled("PodTopologyLabelsAdmission"):
            return
        node = request.find("", "nodes").record("", name)
        labels = {label: node.labels[label] for label in _LABELS if label in node.labels} if node is not None else {}
        if labels:
            metadata = request.given["metadata"]
            metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
