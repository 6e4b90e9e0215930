"""Evaluating the expressions of one policy on one request, within its budget."""

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
from mockkube.matching.cel.metered import evaluate

CALL_COST_MAX: Final = 1_000_000
"""The most one expression may cost."""
COST_MAX: Final = 10_000_000
"""The most all expressions of a policy may cost for one request."""
CONDITIONS_COST_MAX: Final = 2_500_000
_SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_NAMESPACE_PARTS: Final = ("metadata", "spec", "status")
_HIDDEN_METADATA: Final = ("managedFields", "ownerReferences", "selfLink")


class OutOfBudget(Exception):
    """The expressions cost too much together."""

    def __init__(self) -> None:
        super().__init__(_SPENT)


class Failed(Exception):
    """An expression has no value; the text says why."""


@dataclass(slots=True)
class Budget:
    """What is left to spend."""

    left: int

    def spend(self, cost: int) -> None:
        """Take a cost off; OutOfBudget when there is not enough."""
        if cost > self.left:
            raise OutOfBudget
        self.left -= cost


class Variables(dict[str, Any]):
    """The named values of a policy, each computed when it is first asked for."""

    def __init__(self, programs: Mapping[str, Compiled], names: Mapping[str, Any]) -> None:
        super().__init__()
        self._programs = programs
        self._names = names
        self.cost = 0

    def __contains__(self, key: object) -> bool:
        return key in self._programs

    def get(self, key: str, default: Any = None) -> Any:
        """The value, or an error, which is a value too."""
        if key not in self._programs:
            return default
        if not super().__contains__(key):
            self[key] = self._computed(key, self._programs[key])
        return self[key]

    def _computed(self, name: str, found: Compiled) -> Any:
        if found.program is None:
            return CelError(f'composited variable "{name}" fails to compile: {found.error}')
        evaluation = evaluate(found.program, self._names, CALL_COST_MAX)
        self.cost += evaluation.cost
        if isinstance(evaluation.value, CelError):
            return CelError(f'composited variable "{name}" fails to evaluate: {evaluation.value.message}')
        return evaluation.value

    def take_cost(self) -> int:
        """What was spent on values since this was last asked."""
        cost, self.cost = self.cost, 0
        return cost


@dataclass(frozen=True, slots=True)
class Activation:
    """What the names in expressions stand for."""

    names: Mapping[str, Any]
    variables: Variables

    def evaluate(self, found: Compiled, budget: Budget) -> Any:
        """The value of an expression; Failed if it has none, OutOfBudget when that would cost too much."""
        if found.program is None:
            raise Failed(f"compilation error: {found.error}")
        evaluation = evaluate(found.program, self.names, CALL_COST_MAX)
        budget.spend(self.variables.take_cost())
        budget.spend(evaluation.cost)
        if isinstance(evaluation.value, CelError):
            raise Failed(f"expression '{found.text}' resulted in error: {evaluation.value.message}")
        return evaluation.value


@dataclass(frozen=True, slots=True)
class Occasion:
    """A request that a policy or a webhook is for, in the version in which it is."""

    request: Request
    resource: Resource

    def shown(self, obj: ReadOnlyObject | None) -> Object | None:
        """The object in that version; None if there is none."""
        return None if obj is None else self.resource.served(dict(obj))

    def take_strictly(self, value: Any) -> bool:
        """Take a changed object that must not have fields nobody knows."""
        value = dict(sorted(value.items())) if isinstance(value, dict) else value
        if unknown := self.resource.unknown_fields(value):
            named = ", ".join(f'unknown field "{path}"' for path in unknown)
            raise Internal(f"strict decoding error: {named}")
        return self.take(value)

    def take(self, value: Any) -> bool:
        """Put a changed object, decoded and defaulted, in the place of the request's; return whether it differs."""
        call, resource = self.request.call, self.resource
        asking = Call(call.user, call.namespace, call.name, call.subresource, call.user_agent)
        try:
            new = self.request.resource.judged(resource.stored(resource.decode(value, asking, "Ignore")))
        except ApiError as error:
            raise Internal(error.message.removeprefix(resource.cannot_handle(value, ""))) from error
        changed = new != self.request.obj
        self.request.obj = new
        return changed

    def names(self, params: ReadOnlyObject | None, namespace: ReadOnlyObject | None) -> dict[str, Any]:
        """What the names of expressions stand for."""
        return {
            "object": self.shown(self.request.obj),
            "oldObject": self.shown(self.request.old),
            "request": admission_request(self),
            "namespaceObject": None if namespace is None else _shown_namespace(namespace),
            "params": params,
            **names_of_rights(self.request),
        }


def activation(names: Mapping[str, Any], programs: Mapping[str, Compiled]) -> Activation:
    """Names, with those of a policy's own values."""
    whole = dict(names)
    variables = Variables(programs, whole)
    whole["variables"] = variables
    return Activation(whole, variables)


def admission_request(occasion: Occasion) -> Object:
    """The request as reviews describe it, without the objects."""
    request, resource = occasion.request, occasion.resource
    call, subject = request.call, Subject(request)
    told: Object = {
        "uid": "",
        "kind": _kind(resource),
        "resource": _resource(resource),
        "requestKind": _kind(request.resource),
        "requestResource": _resource(request.resource),
        "operation": request.operation.value,
        "userInfo": call.user.info(),
        "dryRun": request.dry_run,
        "options": {"kind": _OPTIONS[request.operation], "apiVersion": "meta.k8s.io/v1"},
    }
    if request.dry_run:
        told["options"]["dryRun"] = ["All"]
    if call.subresource:
        told |= {"subResource": call.subresource, "requestSubResource": call.subresource}
    if subject.name:
        told["name"] = subject.name
    if subject.namespace:
        told["namespace"] = subject.namespace
    return told


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
