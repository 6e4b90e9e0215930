"""Priority: resolve the priority class of a pod into a number and a preemption policy."""

from collections.abc import Iterable, Sequence

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResolvedPriority:
    """Priority and preemption policy of a pod, from its priority class or the default."""

    class_name: str = ""
    value: int = 0
    preemption_policy: str | None = "PreemptLowerPriority"

    @classmethod
    def from_class(cls, priority_class: ReadOnlyObject) -> "ResolvedPriority":
        """Return the values of a priority class."""
        preemption = priority_class.get("preemptionPolicy")
        return cls(priority_class["metadata"]["name"], priority_class.get("value", 0), preemption)


class Priority(AdmissionPlugin):
    """Resolves the priority class of new pods; keeps the default class unique."""

    # upstream 1.36: plugin/pkg/admission/priority/admission.go
    name = "Priority"
    resources = (("", "pods"), ("scheduling.k8s.io", "priorityclasses"))

    def __init__(self) -> None:
        # The default among these classes, which are the same list until one of them changes.
        self._known_default: tuple[Sequence[CachedObject], ResolvedPriority | None] = ((), None)

    def admit(self, request: AdmissionAttributes) -> None:
        """Set priority and preemption policy of a new pod; keep them in an update."""
        if not request.is_for("", "pods"):
            return
        if request.operation is Operation.CREATE:
            _apply_priority(request, self._resolve_priority(request))
        else:
            _restore_priority(request)

    def validate(self, request: AdmissionAttributes) -> None:
        """Reject a second default class."""
        if not request.is_for("scheduling.k8s.io", "priorityclasses") or not request.new.get("globalDefault"):
            return
        default, updates = self._find_default_class(request), request.operation is Operation.UPDATE
        if default is None or (updates and default.class_name == request.new["metadata"]["name"]):
            return
        why = f"PriorityClass {default.class_name} is already marked as default. Only one default can exist"
        raise new_forbidden(request, why)

    def _resolve_priority(self, request: AdmissionAttributes) -> ResolvedPriority:
        name = request.new["spec"].get("priorityClassName")
        if not name:
            return self._find_default_class(request) or ResolvedPriority()
        cached = request.find_resource("scheduling.k8s.io", "priorityclasses").get_cached("", name)
        if cached is None:
            raise new_forbidden(request, f"no PriorityClass with name {name} was found")
        return ResolvedPriority.from_class(cached.load())

    def _find_default_class(self, request: AdmissionAttributes) -> ResolvedPriority | None:
        """Return the default class, the one with the lowest value if a race created several."""
        collection = request.find_resource("scheduling.k8s.io", "priorityclasses").collection
        classes = collection.range(collection.prefix)
        known = self._known_default
        if known[0] is not classes:
            known = self._known_default = classes, _choose_default(cached.load() for cached in classes)
        return known[1]


def _choose_default(classes: Iterable[ReadOnlyObject]) -> ResolvedPriority | None:
    defaults = [
        ResolvedPriority.from_class(one) for one in classes if one.get("globalDefault") is True and _is_readable(one)
    ]
    return min(defaults, key=lambda one: one.value) if defaults else None


def _is_readable(priority_class: ReadOnlyObject) -> bool:
    return isinstance(priority_class.get("value", 0), int)


def _apply_priority(request: AdmissionAttributes, resolved: ResolvedPriority) -> None:
    spec = request.new["spec"]
    if resolved.class_name:
        spec["priorityClassName"] = resolved.class_name
    given = spec.get("priority")
    if given is not None and given != resolved.value:
        why = (
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {resolved.value} from the given PriorityClass name"
        )
        raise new_forbidden(request, why)
    spec["priority"] = resolved.value
    if resolved.preemption_policy is None:
        return
    policy = spec.get("preemptionPolicy")
    if policy is not None and policy != resolved.preemption_policy:
        why = (
            f"the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; priority admission "
            f"controller computed {resolved.preemption_policy} from the given PriorityClass name"
        )
        raise new_forbidden(request, why)
    spec["preemptionPolicy"] = resolved.preemption_policy


def _restore_priority(request: AdmissionAttributes) -> None:
    """Restore what an update leaves out; validation rejects changes."""
    assert request.old is not None
    spec, before = request.new["spec"], request.old["spec"]
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and before.get(name) is not None:
            spec[name] = before[name]
