"""TaintNodesByCondition: taint new nodes as not ready."""

from typing import Final

from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation

_NOT_READY_TAINT: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition(AdmissionPlugin):
    """Adds the not-ready taint to every new node, so that no pod is scheduled before the node reports ready."""

    # upstream 1.36: plugin/pkg/admission/nodetaint/admission.go
    name = "TaintNodesByCondition"
    resources = (("", "nodes"),)

    def admit(self, request: AdmissionAttributes) -> None:
        """Taint a new node; the node lifecycle controller removes the taint."""
        if request.operation is not Operation.CREATE or not request.is_for("", "nodes"):
            return
        spec = request.new.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any((one.get("key"), one.get("effect")) == tuple(_NOT_READY_TAINT.values()) for one in taints):
            spec["taints"] = [*taints, dict(_NOT_READY_TAINT)]

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return False: nothing is done on updates."""
        return False
