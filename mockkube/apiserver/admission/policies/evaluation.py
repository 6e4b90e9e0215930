"""Evaluate the expressions of one policy on one request, within a cost budget."""

# upstream 1.36: apiserver/pkg/admission/plugin/cel/activation.go, condition.go
from collections.abc import Mapping
from typing import Any, Final

from mockkube_cel.environment import Compiled
from mockkube_cel.values import CelError

from mockkube.api.errors import ApiError, Internal
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.admission.policies.authorizer_variables import authorizer_variables
from mockkube.apiserver.admission.policies.matching import RequestMatcher
from mockkube.apiserver.registry.admission import AdmissionAttributes, Operation
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.cel.metered_evaluation import evaluate_metered

# Cost limit of one expression, in units of CEL's cost model.
EXPRESSION_COST_MAX: Final = 1_000_000
# Cost limit of all expressions of a policy for one request.
POLICY_COST_MAX: Final = 10_000_000
CONDITIONS_COST_MAX: Final = 2_500_000
_BUDGET_EXCEEDED: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_NAMESPACE_FIELDS: Final = ("metadata", "spec", "status")
_HIDDEN_METADATA: Final = ("managedFields", "ownerReferences", "selfLink")


class CelBudgetExceeded(Exception):
    """Error when the expressions of a policy exceed their cost budget."""

    def __init__(self) -> None:
        super().__init__(_BUDGET_EXCEEDED)


class EvaluationError(Exception):
    """Error when an expression cannot be evaluated; the text has the reason."""


@dataclass(slots=True)
class CostBudget:
    """Cost budget of the expressions of a policy."""

    left: int

    def spend(self, cost: int) -> None:
        """Subtract a cost; raise CelBudgetExceeded if too little is left."""
        if cost > self.left:
            raise CelBudgetExceeded
        self.left -= cost


class LazyVariables(dict[str, Any]):
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
            self[key] = self._evaluate(key, self._programs[key])
        return self[key]

    def _evaluate(self, name: str, found: Compiled) -> Any:
        if found.program is None:
            return CelError(f'composited variable "{name}" fails to compile: {found.error}')
        evaluation = evaluate_metered(found.program, self._names, EXPRESSION_COST_MAX)
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
    variables: LazyVariables

    def evaluate(self, expression: Compiled, budget: CostBudget) -> Any:
        """Return the value of an expression; raise EvaluationError or CelBudgetExceeded."""
        if expression.program is None:
            raise EvaluationError(f"compilation error: {expression.error}")
        evaluation = evaluate_metered(expression.program, self.names, EXPRESSION_COST_MAX)
        budget.spend(self.variables.take_cost())
        budget.spend(evaluation.cost)
        if isinstance(evaluation.value, CelError):
            raise EvaluationError(f"expression '{expression.text}' resulted in error: {evaluation.value.message}")
        return evaluation.value


@dataclass(frozen=True, slots=True)
class VersionedAttributes:
    """Request, with its objects in the version that a policy or webhook matches (upstream: VersionedAttributes)."""

    request: AdmissionAttributes
    resource: Resource

    def convert(self, obj: ReadOnlyObject | None) -> Object | None:
        """Return the object in the matched version; None if there is none."""
        if obj is None or self.request.has_other_kind:
            return None if obj is None else dict(obj)
        return self.resource.to_served_version(dict(obj))

    def set_object_strictly(self, value: Any) -> bool:
        """Set the changed object of the request; raise Internal if it has unknown fields."""
        # Sorted, so that the error names unknown fields in a fixed order.
        value = dict(sorted(value.items())) if isinstance(value, dict) else value
        if unknown := self.resource.find_unknown_fields(value):
            named = ", ".join(f'unknown field "{path}"' for path in unknown)
            raise Internal(f"strict decoding error: {named}")
        return self.set_object(value)

    def set_object(self, value: Any) -> bool:
        """Set the changed object of the request, decoded and defaulted; return whether it differs."""
        scope, resource = self.request.scope, self.resource
        if self.request.has_other_kind:
            differs: bool = value != self.request.obj
            self.request.obj = value if isinstance(value, dict) else {}
            return differs
        # A scope of its own: decoding sets fields of the scope that must keep describing the client's body.
        asking = RequestScope(scope.user, scope.namespace, scope.name, scope.subresource, scope.user_agent)
        try:
            new = self.request.resource.convert_for_validation(
                resource.to_storage_version(resource.decode(value, asking, "Ignore"))
            )
        except ApiError as error:
            raise Internal(error.message.removeprefix(resource.cannot_handle_message(value, ""))) from error
        changed = new != self.request.obj
        self.request.obj = new
        return changed

    def make_variables(self, params: ReadOnlyObject | None, namespace: ReadOnlyObject | None) -> dict[str, Any]:
        """Return the variables of expressions by name."""
        return {
            "object": self.convert(self.request.obj),
            "oldObject": self.convert(self.request.old),
            "request": make_admission_request(self),
            "namespaceObject": None if namespace is None else _convert_namespace(namespace),
            "params": params,
            **authorizer_variables(self.request),
        }


def make_activation(names: Mapping[str, Any], programs: Mapping[str, Compiled]) -> Activation:
    """Return the activation of a policy with its own variables."""
    all_names = dict(names)
    # A variable may use the others, so all of them share one mapping.
    variables = LazyVariables(programs, all_names)
    all_names["variables"] = variables
    return Activation(all_names, variables)


def make_admission_request(attributes: VersionedAttributes) -> Object:
    """Return the AdmissionRequest without its objects."""
    request, resource = attributes.request, attributes.resource
    scope, subject = request.scope, RequestMatcher(request)
    if request.has_other_kind:
        group, _, version = request.new["apiVersion"].rpartition("/")
        kind = request_kind = {"group": group, "version": version, "kind": request.new["kind"]}
    else:
        kind, request_kind = _group_version_kind(resource), _group_version_kind(request.resource)
    options = None
    if request.operation is not Operation.CONNECT:
        options = {"kind": _OPTIONS_KINDS[request.operation], "apiVersion": "meta.k8s.io/v1"}
    review: Object = {
        "uid": "",
        "kind": kind,
        "resource": _group_version_resource(resource),
        "requestKind": request_kind,
        "requestResource": _group_version_resource(request.resource),
        "operation": request.operation.value,
        "userInfo": scope.user.to_user_info(),
        "dryRun": request.dry_run,
        "options": options,
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


_OPTIONS_KINDS: Final = {
    Operation.CREATE: "CreateOptions",
    Operation.UPDATE: "UpdateOptions",
    Operation.DELETE: "DeleteOptions",
}


def _group_version_kind(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind.kind}


def _group_version_resource(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _convert_namespace(namespace: ReadOnlyObject) -> Object:
    shown = {part: namespace[part] for part in _NAMESPACE_FIELDS if part in namespace}
    shown["metadata"] = {key: value for key, value in shown["metadata"].items() if key not in _HIDDEN_METADATA}
    return shown
