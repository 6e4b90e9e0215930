"""PodResizeValidator: reject resizing a pod beyond the allocatable resources of its node, or on Windows."""

from typing import Final

from mockkube.api.errors import Forbidden
from mockkube.api.pod_amounts import add_quantities, calculate_pod_quantities, parse_resource_list
from mockkube.api.quantity import parse
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Operation, Plugin, Request
from mockkube.features.versions import Version

_SINCE: Final = Version(1, 36)


class PodResizeValidator(Plugin):
    """Rejects resizing a bound pod beyond its node."""

    # upstream 1.36: plugin/pkg/admission/podresize/admission.go
    name = "PodResizeValidator"
    operations = (Operation.UPDATE,)

    def validate(self, request: Request) -> None:
        """Compare the requests of a resized pod with its node."""
        caps = request.resource.services.caps
        acts = caps.version >= _SINCE and caps.enabled("InPlacePodVerticalScaling")
        if not acts or not request.about("", "pods", "resize"):
            return
        assert request.old is not None
        name = request.given["spec"].get("nodeName")
        # An unchanged generation means that the resources did not change.
        if not name or request.given["metadata"].get("generation") == request.old["metadata"].get("generation"):
            return
        record = request.find("", "nodes").record("", name)
        if record is None:
            raise refuse(request, f'node "{name}" not found')
        system = record.labels.get("kubernetes.io/os", "linux")
        if system != "linux":
            why = f'pod resize is only supported on linux nodes, node "{name}" is "{system}"'
            raise _refuse(request, why, "UnsupportedPlatform")
        short = _short_of(request.given["spec"], record.load())
        if short:
            why = f"node didn't have enough allocatable resources: {'; '.join(short)}"
            raise _refuse(request, why, "NodeCapacity")


def _refuse(request: Request, why: str, reason: str) -> Forbidden:
    error = refuse(request, why)
    assert error.details is not None
    error.details["causes"] = [{"reason": reason}]
    return error


def _short_of(spec: ReadOnlyObject, node: ReadOnlyObject) -> list[str]:
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
