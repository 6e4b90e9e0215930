"""PodTopologyLabels: copy zone and region of the node to the pod."""

from typing import Final

from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation

_TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels(AdmissionPlugin):
    """Copies the topology labels of the node to the pod when it is bound, or created with a node."""

    # upstream 1.36: plugin/pkg/admission/podtopologylabels/admission.go
    name = "PodTopologyLabels"
    resources = (("", "pods"),)

    def admit(self, request: AdmissionAttributes) -> None:
        """Label the pod; a missing node has no labels."""
        created = request.operation is Operation.CREATE and request.is_for("", "pods")
        if not created and not request.is_for("", "pods", "binding"):
            return
        name = request.new["spec"].get("nodeName")
        if not name or not request.resource.dependencies.capabilities.enabled("PodTopologyLabelsAdmission"):
            return
        node = request.find_resource("", "nodes").get_cached("", name)
        given = {} if node is None else node.labels
        labels = {label: given[label] for label in _TOPOLOGY_LABELS if label in given}
        if labels:
            metadata = request.new["metadata"]
            metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
