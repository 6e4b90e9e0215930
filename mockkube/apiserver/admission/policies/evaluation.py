"""Evaluate the expressions of one policy on one request, within a cost budget."""

# upstream 1.36: apiserver/pkg/admission/plugin/cel/activation.go, condition.go
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mockkube_cel.environment import Compiled
from mockkube_cel.values import CelError

from mockkube.api.errors import ApiError, Internal
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.admission.policies.matching import Subject
from mockkube.apiserver.admission.policies.rights import names_of_rights
from mockkube.apiserver.registry.admission import Operation, Request
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.matching.cel.metered import evaluate_metered

# Cost limit of one expression, in units of CEL's cost model.
CALL_COST_MAX: Final = 1_000_000
# Cost limit of all expressions of a policy for one request.
COST_MAX: Final = 10_000_000
CONDITIONS_COST_MAX: Final = 2_500_000
_SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_NAMESPACE_PARTS: Final = ("metadata", "spec", "status")
_HIDDEN_METADATA: Final = ("managedFields", "ownerReferences", "selfLink")


class OutOfBudget(Exception):
    """Error when the expressions of a policy exceed their cost budget."""

    def __init__(self) -> None:
        super().__init__(_SPENT)


class Failed(Exception):
    """Error when an expression cannot be evaluated; the text has the reason."""


@dataclass(slots=True)
class Budget:
    """Cost budget of the expressions of a policy."""

    left: int

    def spend(self, cost: int) -> None:
        """Subtract a cost; raise CelBudgetExceeded if too little is left."""
        if cost > self.left:
            raise OutOfBudget
        self.left -= cost


class Variables(dict[str, Any]):
    """Variables of a policy, each evaluated when it is first read."""

    def __init__(self, programs: Mapping[str, Compiled], names: Mapping[str, Any]) -> None:
        super().__init__()
        self._programs = programs
        self._names = names
        self.cost = 0

    def __contains__(self, key: object) -> bool:
        return key in self._programs

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value, which may be an error: CEL treats errors as values."""
        if key not in self._programs:
            return default
        if not super().__contains__(key):
            self[key] = self._computed(key, self._programs[key])
        return self[key]

    def _computed(self, name: str, found: Compiled) -> Any:
        if found.program is None:
            return CelError(f'composited variable "{name}" fails to compile: {found.error}')
        evaluation = evaluate_metered(found.program, self._names, CALL_COST_MAX)
        self.cost += evaluation.cost
        if isinstance(evaluation.value, CelError):
            return CelError(f'composited variable "{name}" fails to evaluate: {evaluation.value.message}')
        return evaluation.value

    def take_cost(self) -> int:
        """Return the cost of variables evaluated since the last call."""
        # An expression pays for the variables it is the first to read.
        cost, self.cost = self.cost, 0
        return cost


@dataclass(frozen=True, slots=True)
class Activation:
    """Values of the names in expressions."""

    names: Mapping[str, Any]
    variables: Variables

    def evaluate(self, found: Compiled, budget: Budget) -> Any:
        """Return the value of an expression; raise EvaluationError or CelBudgetExceeded."""
        if found.program is None:
            raise Failed(f"compilation error: {found.error}")
        evaluation = evaluate_metered(found.program, self.names, CALL_COST_MAX)
        budget.spend(self.variables.take_cost())
        budget.spend(evaluation.cost)
        if isinstance(evaluation.value, CelError):
            raise Failed(f"expression '{found.text}' resulted in error: {evaluation.value.message}")
        return evaluation.value


@dataclass(frozen=True, slots=True)
class Occasion:
    """Request, with its objects in the version that a policy or webhook matches (upstream: VersionedAttributes)."""

    request: Request
    resource: Resource

    def shown(self, obj: ReadOnlyObject | None) -> Object | None:
        """Return the object in the matched version; None if there is none."""
        return None if obj is None else self.resource.served(dict(obj))

    def take_strictly(self, value: Any) -> bool:
        """Set the changed object of the request; raise Internal if it has unknown fields."""
        # Sorted, so that the error names unknown fields in a fixed order.
        value = dict(sorted(value.items())) if isinstance(value, dict) else value
        if unknown := self.resource.unknown_fields(value):
            named = ", ".join(f'unknown field "{path}"' for path in unknown)
            raise Internal(f"strict decoding error: {named}")
        return self.take(value)

    def take(self, value: Any) -> bool:
        """Set the changed object of the request, decoded and defaulted; return whether it differs."""
        scope, resource = self.request.call, self.resource
        # A scope of its own: decoding sets fields of the scope that must keep describing the client's body.
        asking = Call(scope.user, scope.namespace, scope.name, scope.subresource, scope.user_agent)
        try:
            new = self.request.resource.judged(resource.stored(resource.decode(value, asking, "Ignore")))
        except ApiError as error:
            raise Internal(error.message.removeprefix(resource.cannot_handle(value, ""))) from error
        changed = new != self.request.obj
        self.request.obj = new
        return changed

    def names(self, params: ReadOnlyObject | None, namespace: ReadOnlyObject | None) -> dict[str, Any]:
        """Return the variables of expressions by name."""
        return {
            "object": self.shown(self.request.obj),
            "oldObject": self.shown(self.request.old),
            "request": admission_request(self),
            "namespaceObject": None if namespace is None else _shown_namespace(namespace),
            "params": params,
            **names_of_rights(self.request),
        }


def activation(names: Mapping[str, Any], programs: Mapping[str, Compiled]) -> Activation:
    """Return the activation of a policy with its own variables."""
    whole = dict(names)
    # A variable may use the others, so all of them share one mapping.
    variables = Variables(programs, whole)
    whole["variables"] = variables
    return Activation(whole, variables)


def admission_request(occasion: Occasion) -> Object:
    """Return the AdmissionRequest without its objects."""
    request, resource = occasion.request, occasion.resource
    scope, subject = request.call, Subject(request)
    review: Object = {
        "uid": "",
        "kind": _kind(resource),
        "resource": _resource(resource),
        "requestKind": _kind(request.resource),
        "requestResource": _resource(request.resource),
        "operation": request.operation.value,
        "userInfo": scope.user.info(),
        "dryRun": request.dry_run,
        "options": {"kind": _OPTIONS[request.operation], "apiVersion": "meta.k8s.io/v1"},
    }
    if request.dry_run:
        review["options"]["dryRun"] = ["All"]
    if scope.subresource:
        review |= {"subResource": scope.subresource, "requestSubResource": scope.subresource}
    if subject.name:
        review["name"] = subject.name
    if subject.namespace:
        review["namespace"] = subject.namespace
    return review


_OPTIONS: Final = {
    Operation.CREATE: "CreateOptions",
    Operation.UPDATE: "UpdateOptions",
    Operation.DELETE: "DeleteOptions",
    Operation.CONNECT: "ConnectOptions",
}


def _kind(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind.kind}


def _resource(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _shown_namespace(namespace: ReadOnlyObject) -> Object:
    shown = {part: namespace[part] for part in _NAMESPACE_PARTS if part in namespace}
    shown["metadata"] = {key: value for key, value in shown["metadata"].items() if key not in _HIDDEN_METADATA}
    return shown
