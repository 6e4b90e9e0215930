"""ExtendedResourceToleration: who asks for a special resource may use the nodes reserved for it."""

from mockkube.api.kinds.core.pod.containers.resources import is_extended
from mockkube.api.pod_amounts import containers_of
from mockkube.apiserver.registry.admission import Plugin, Request


class ExtendedResourceToleration(Plugin):
    """Lets a pod tolerate taints named after the extended resources it requests."""

    # upstream 1.36: plugin/pkg/admission/extendedresourcetoleration/admission.go
    name = "ExtendedResourceToleration"

    def admit(self, request: Request) -> None:
        """Add the tolerations a pod lacks."""
        if not request.about("", "pods"):
            return
        spec = request.given["spec"]
        asked = {
            name
            for container in containers_of(spec)
            for name in (container.get("resources") or {}).get("requests") or ()
            if is_extended(name)
        }
        given = spec.get("tolerations") or []
        wanted = [{"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in sorted(asked)]
        missing = [one for one in wanted if one not in given]
        if missing:
            spec["tolerations"] = [*given, *missing]
