"""TaintNodesByCondition: a new node is not ready until somebody says so."""

from typing import Final

from mockkube.apiserver.registry.admission import Operation, Plugin, Request

_TAINT: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition(Plugin):
    """Puts the taint of a node that is not ready on every new node."""

    # upstream 1.36: plugin/pkg/admission/nodetaint/admission.go
    name = "TaintNodesByCondition"

    def admit(self, request: Request) -> None:
        """Taint a node at its creation; the node lifecycle controller takes the taint off."""
        if request.operation is not Operation.CREATE or not request.about("", "nodes"):
            return
        spec = request.given.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any((one.get("key"), one.get("effect")) == tuple(_TAINT.values()) for one in taints):
            spec["taints"] = [*taints, dict(_TAINT)]
