"""LimitPodHardAntiAffinityTopology: allow required anti-affinity for single nodes only."""

from typing import Final

from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin

_HOSTNAME: Final = "kubernetes.io/hostname"


class LimitPodHardAntiAffinityTopology(AdmissionPlugin):
    """Rejects required anti-affinity with a topology larger than a node."""

    # upstream 1.36: plugin/pkg/admission/antiaffinity/admission.go
    name = "LimitPodHardAntiAffinityTopology"
    resources = (("", "pods"),)

    def validate(self, request: AdmissionAttributes) -> None:
        """Check the required anti-affinity terms of a pod."""
        if not request.is_for("", "pods"):
            return
        anti_affinity = (request.new["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
        for term in anti_affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            key = term.get("topologyKey", "")
            if key != _HOSTNAME:
                where = "affinity.PodAntiAffinity.RequiredDuringScheduling"
                raise new_forbidden(request, f"{where} has TopologyKey {key} but only key {_HOSTNAME} is allowed")
