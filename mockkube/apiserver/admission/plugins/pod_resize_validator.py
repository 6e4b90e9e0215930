"""PodResizeValidator: reject resizing a pod beyond the allocatable resources of its node, or on Windows."""

from typing import Final

from mockkube.api.errors import Forbidden
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.pod_quantities import add_quantities, calculate_pod_quantities, parse_resource_list
from mockkube.api.quantities.quantity import parse
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.features.versions import Version

_VERSION_MIN: Final = Version(1, 36)


class PodResizeValidator(AdmissionPlugin):
    """Rejects resizing a bound pod beyond its node."""

    # upstream 1.36: plugin/pkg/admission/podresize/admission.go
    name = "PodResizeValidator"
    operations = (Operation.UPDATE,)
    resources = (("", "pods"),)

    def validate(self, request: AdmissionAttributes) -> None:
        """Compare the requests of a resized pod with its node."""
        caps = request.resource.dependencies.capabilities
        acts = caps.version >= _VERSION_MIN and caps.enabled("InPlacePodVerticalScaling")
        if not acts or not request.is_for("", "pods", "resize"):
            return
        assert request.old is not None
        name = request.new["spec"].get("nodeName")
        # An unchanged generation means that the resources did not change.
        if not name or request.new["metadata"].get("generation") == request.old["metadata"].get("generation"):
            return
        cached = request.find_resource("", "nodes").get_cached("", name)
        if cached is None:
            raise new_forbidden(request, f'node "{name}" not found')
        system = cached.labels.get("kubernetes.io/os", "linux")
        if system != "linux":
            why = f'pod resize is only supported on linux nodes, node "{name}" is "{system}"'
            raise _new_forbidden(request, why, "UnsupportedPlatform")
        short = _find_shortages(request.new["spec"], cached.load())
        if short:
            why = f"node didn't have enough allocatable resources: {'; '.join(short)}"
            raise _new_forbidden(request, why, "NodeCapacity")


def _new_forbidden(request: AdmissionAttributes, why: str, reason: str) -> Forbidden:
    error = new_forbidden(request, why)
    assert error.details is not None
    error.details["causes"] = [{"reason": reason}]
    return error


def _find_shortages(spec: ReadOnlyObject, node: ReadOnlyObject) -> list[str]:
    requests = calculate_pod_quantities(spec, "requests", pod_level=True)
    add_quantities(requests, parse_resource_list(spec.get("overhead")))
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    none = parse("0")
    short = []
    cpu, has = requests.get("cpu", none), parse(allocatable.get("cpu", "0"))
    if cpu > has:
        short.append(f"cpu, requested: {cpu.milli()}, allocatable: {has.milli()}")
    memory, has = requests.get("memory", none), parse(allocatable.get("memory", "0"))
    if memory > has:
        short.append(f"memory, requested: {memory.value()}, allocatable: {has.value()}")
    return short
