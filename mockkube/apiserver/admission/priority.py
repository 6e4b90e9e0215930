"""Priority: resolve the priority class of a pod into a number and a preemption policy."""

from dataclasses import dataclass

from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Operation, Plugin, Request


@dataclass(frozen=True, slots=True)
class Standing:
    """Priority and preemption policy of a pod, from its priority class or the default."""

    class_name: str = ""
    value: int = 0
    preemption: str | None = "PreemptLowerPriority"

    @classmethod
    def read(cls, priority_class: ReadOnlyObject) -> "Standing":
        """Return the values of a priority class."""
        preemption = priority_class.get("preemptionPolicy")
        return cls(priority_class["metadata"]["name"], priority_class.get("value", 0), preemption)


class Priority(Plugin):
    """Resolves the priority class of new pods; keeps the default class unique."""

    # upstream 1.36: plugin/pkg/admission/priority/admission.go
    name = "Priority"

    def admit(self, request: Request) -> None:
        """Set priority and preemption policy of a new pod; keep them in an update."""
        if not request.about("", "pods"):
            return
        if request.operation is Operation.CREATE:
            _apply(request, _standing(request))
        else:
            _keep(request)

    def validate(self, request: Request) -> None:
        """Reject a second default class."""
        if not request.about("scheduling.k8s.io", "priorityclasses") or not request.given.get("globalDefault"):
            return
        default, updates = _default_class(request), request.operation is Operation.UPDATE
        if default is None or (updates and default.class_name == request.given["metadata"]["name"]):
            return
        why = f"PriorityClass {default.class_name} is already marked as default. Only one default can exist"
        raise refuse(request, why)


def _standing(request: Request) -> Standing:
    name = request.given["spec"].get("priorityClassName")
    if not name:
        return _default_class(request) or Standing()
    record = request.find("scheduling.k8s.io", "priorityclasses").record("", name)
    if record is None:
        raise refuse(request, f"no PriorityClass with name {name} was found")
    return Standing.read(record.load())


def _default_class(request: Request) -> Standing | None:
    """Return the default class, the one with the lowest value if a race created several."""
    collection = request.find("scheduling.k8s.io", "priorityclasses").collection
    loaded = (record.load() for record in collection.range(collection.prefix))
    defaults = [Standing.read(one) for one in loaded if one.get("globalDefault") is True and _is_readable(one)]
    return min(defaults, key=lambda one: one.value) if defaults else None


def _is_readable(priority_class: ReadOnlyObject) -> bool:
    return isinstance(priority_class.get("value", 0), int)


def _apply(request: Request, standing: Standing) -> None:
    spec = request.given["spec"]
    if standing.class_name:
        spec["priorityClassName"] = standing.class_name
    given = spec.get("priority")
    if given is not None and given != standing.value:
        why = (
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {standing.value} from the given PriorityClass name"
        )
        raise refuse(request, why)
    spec["priority"] = standing.value
    if standing.preemption is None:
        return
    policy = spec.get("preemptionPolicy")
    if policy is not None and policy != standing.preemption:
        why = (
            f"the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; priority admission "
            f"controller computed {standing.preemption} from the given PriorityClass name"
        )
        raise refuse(request, why)
    spec["preemptionPolicy"] = standing.preemption


def _keep(request: Request) -> None:
    """Restore what an update leaves out; validation rejects changes."""
    assert request.old is not None
    spec, before = request.given["spec"], request.old["spec"]
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and before.get(name) is not None:
            spec[name] = before[name]
