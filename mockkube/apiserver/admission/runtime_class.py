"""RuntimeClass: add the overhead, node selector and tolerations of a runtime class to its pods."""

from mockkube.api.quantity import parse
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.admission.tolerations import merge
from mockkube.apiserver.registry.admission import Operation, Plugin, Request

_DIFFERENT = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


class RuntimeClass(Plugin):
    """Sets overhead, node selector and tolerations of new pods from their runtime class."""

    # upstream 1.36: plugin/pkg/admission/runtimeclass/admission.go
    name = "RuntimeClass"

    def admit(self, request: Request) -> None:
        """Complete a new pod."""
        if request.operation is not Operation.CREATE or not request.about("", "pods"):
            return
        runtime = _runtime_class(request)
        spec = request.given["spec"]
        if runtime.get("overhead") is not None:
            fixed = runtime["overhead"].get("podFixed") or {}
            overhead = _overhead(request)
            if overhead is not None and not _same(fixed, overhead):
                raise refuse(request, _DIFFERENT)
            if fixed:
                spec["overhead"] = dict(fixed)
        if runtime.get("scheduling") is not None:
            _schedule(request, spec, runtime["scheduling"])

    def validate(self, request: Request) -> None:
        """Reject an overhead that differs from the class's."""
        if request.operation is not Operation.CREATE or not request.about("", "pods"):
            return
        overhead, of_class = _overhead(request), _runtime_class(request).get("overhead")
        if of_class is None:
            if overhead is not None:
                why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
                raise refuse(request, why)
        elif not _same(of_class.get("podFixed") or {}, overhead or {}):
            raise refuse(request, _DIFFERENT)


def _overhead(request: Request) -> ReadOnlyObject | None:
    """Return the overhead that the client set; an empty map is different from none."""
    spec = request.given["spec"]
    if "overhead" in spec:
        overhead: ReadOnlyObject = spec["overhead"]
        return overhead
    # Decoding drops an empty map, so the value that the client sent decides.
    sent = request.call.given
    return {} if isinstance(sent, dict) and (sent.get("spec") or {}).get("overhead") == {} else None


def _runtime_class(request: Request) -> ReadOnlyObject:
    """Return the runtime class of the pod; an empty object if it names none."""
    name = request.given["spec"].get("runtimeClassName")
    if name is None:
        return {}
    record = request.find("node.k8s.io", "runtimeclasses").record("", name)
    if record is None:
        raise refuse(request, f'pod rejected: RuntimeClass "{name}" not found')
    return record.load()


def _same(first: ReadOnlyObject, second: ReadOnlyObject) -> bool:
    return first.keys() == second.keys() and all(parse(first[name]) == parse(second[name]) for name in first)


def _schedule(request: Request, spec: Object, scheduling: ReadOnlyObject) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in sorted((scheduling.get("nodeSelector") or {}).items()):
        if selector.get(key, value) != value:
            sides = (
                f"runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
            raise refuse(request, f"conflict: {sides}")
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    tolerations = merge(spec.get("tolerations") or [], scheduling.get("tolerations") or [])
    if tolerations:
        spec["tolerations"] = tolerations
