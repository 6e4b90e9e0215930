"""ExtendedResourceToleration: let pods tolerate the taints of the extended resources they request."""

from mockkube.api.kinds.core.pod.containers.resources import is_extended_resource
from mockkube.api.quantities.pod_quantities import iter_containers
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin


class ExtendedResourceToleration(AdmissionPlugin):
    """Adds tolerations for taints named after the extended resources that a pod requests."""

    # upstream 1.36: plugin/pkg/admission/extendedresourcetoleration/admission.go
    name = "ExtendedResourceToleration"
    resources = (("", "pods"),)

    def admit(self, request: AdmissionAttributes) -> None:
        """Add the tolerations that a pod lacks."""
        if not request.is_for("", "pods"):
            return
        spec = request.new["spec"]
        requested = {
            name
            for container in iter_containers(spec)
            for name in (container.get("resources") or {}).get("requests") or ()
            if is_extended_resource(name)
        }
        given = spec.get("tolerations") or []
        wanted = [{"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in sorted(requested)]
        missing = [one for one in wanted if one not in given]
        if missing:
            spec["tolerations"] = [*given, *missing]
