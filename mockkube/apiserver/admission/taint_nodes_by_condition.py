"""TaintNodesByCondition: taint new nodes as not ready."""

from typing import Final

from mockkube.apiserver.registry.admission import Operation, Plugin, Request

_TAINT: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition(Plugin):
    """Adds the not-ready taint to every new node, so that no pod is scheduled before the node reports ready."""

    # upstream 1.36: plugin/pkg/admission/nodetaint/admission.go
    name = "TaintNodesByCondition"

    def admit(self, request: Request) -> None:
        """Taint a new node; the node lifecycle controller removes the taint."""
        if request.operation is not Operation.CREATE or not request.about("", "nodes"):
            return
        spec = request.given.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any((one.get("key"), one.get("effect")) == tuple(_TAINT.values()) for one in taints):
            spec["taints"] = [*taints, dict(_TAINT)]
