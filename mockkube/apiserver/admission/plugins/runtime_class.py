"""RuntimeClass: add the overhead, node selector and tolerations of a runtime class to its pods."""

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.admission.plugins.tolerations import merge_tolerations
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation

_OVERHEAD_MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


class RuntimeClass(AdmissionPlugin):
    """Sets overhead, node selector and tolerations of new pods from their runtime class."""

    # upstream 1.36: plugin/pkg/admission/runtimeclass/admission.go
    name = "RuntimeClass"
    resources = (("", "pods"),)

    def admit(self, request: AdmissionAttributes) -> None:
        """Complete a new pod."""
        if request.operation is not Operation.CREATE or not request.is_for("", "pods"):
            return
        runtime = _find_runtime_class(request)
        spec = request.new["spec"]
        if runtime.get("overhead") is not None:
            fixed = runtime["overhead"].get("podFixed") or {}
            overhead = _requested_overhead(request)
            if overhead is not None and not _equal_amounts(fixed, overhead):
                raise new_forbidden(request, _OVERHEAD_MISMATCH)
            if fixed:
                spec["overhead"] = dict(fixed)
        if runtime.get("scheduling") is not None:
            _apply_scheduling(request, spec, runtime["scheduling"])

    def validate(self, request: AdmissionAttributes) -> None:
        """Reject an overhead that differs from the class's."""
        if request.operation is not Operation.CREATE or not request.is_for("", "pods"):
            return
        overhead, of_class = _requested_overhead(request), _find_runtime_class(request).get("overhead")
        if of_class is None:
            if overhead is not None:
                why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
                raise new_forbidden(request, why)
        elif not _equal_amounts(of_class.get("podFixed") or {}, overhead or {}):
            raise new_forbidden(request, _OVERHEAD_MISMATCH)


def _requested_overhead(request: AdmissionAttributes) -> ReadOnlyObject | None:
    """Return the overhead that the client set; an empty map is different from none."""
    spec = request.new["spec"]
    if "overhead" in spec:
        overhead: ReadOnlyObject = spec["overhead"]
        return overhead
    # Decoding drops an empty map, so the value that the client sent decides.
    sent = request.scope.decoded_from
    return {} if isinstance(sent, dict) and (sent.get("spec") or {}).get("overhead") == {} else None


def _find_runtime_class(request: AdmissionAttributes) -> ReadOnlyObject:
    """Return the runtime class of the pod; an empty object if it names none."""
    name = request.new["spec"].get("runtimeClassName")
    if name is None:
        return {}
    cached = request.find_resource("node.k8s.io", "runtimeclasses").get_cached("", name)
    if cached is None:
        raise new_forbidden(request, f'pod rejected: RuntimeClass "{name}" not found')
    return cached.load()


def _equal_amounts(first: ReadOnlyObject, second: ReadOnlyObject) -> bool:
    return first.keys() == second.keys() and all(parse(first[name]) == parse(second[name]) for name in first)


def _apply_scheduling(request: AdmissionAttributes, spec: Object, scheduling: ReadOnlyObject) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in sorted((scheduling.get("nodeSelector") or {}).items()):
        if selector.get(key, value) != value:
            sides = (
                f"runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
            raise new_forbidden(request, f"conflict: {sides}")
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    tolerations = merge_tolerations(spec.get("tolerations") or [], scheduling.get("tolerations") or [])
    if tolerations:
        spec["tolerations"] = tolerations
