"""MutatingAdmissionPolicy: change objects by the CEL expressions of policies."""

# upstream 1.36: apiserver/pkg/admission/plugin/policy/mutating
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from mockkube_cel.environment import Compiled

from mockkube.api.errors import ApiError
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.admission.policies.bindings import Compilations, Invocation, Misconfigured, invocations
from mockkube.apiserver.admission.policies.conditions import met
from mockkube.apiserver.admission.policies.evaluation import Failed, OutOfBudget, activation
from mockkube.apiserver.admission.policies.expressions import BOOL, compiled, named_values, variables_scope
from mockkube.apiserver.admission.policies.matching import Subject, configured
from mockkube.apiserver.admission.policies.mutations import Mutation
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Plugin, Request
from mockkube.apiserver.registry.cache import Record

_GATE: Final = "MutatingAdmissionPolicy"


@dataclass(frozen=True, slots=True)
class Complaint:
    """Error of a policy, as the request is rejected with it."""

    policy: str
    binding: ReadOnlyObject | None
    text: str
    reason: str = ""

    def __str__(self) -> str:
        if self.binding is None:
            return f'policy "{self.policy}" denied request: {self.text}'
        return f"policy '{self.policy}' with binding '{self.binding['metadata']['name']}' denied request: {self.text}"


@dataclass(frozen=True, slots=True)
class Policy:
    """Compiled MutatingAdmissionPolicy."""

    name: str
    spec: ReadOnlyObject
    variables: Mapping[str, Compiled]
    conditions: Sequence[Compiled]
    mutations: Sequence[Mutation]

    @property
    def fails(self) -> bool:
        """True if errors of the policy reject the request."""
        return bool(self.spec.get("failurePolicy") != "Ignore")

    @property
    def reinvoked(self) -> bool:
        """True if it runs again if the object changed after it."""
        return bool(self.spec.get("reinvocationPolicy") == "IfNeeded")

    @classmethod
    def read(cls, obj: ReadOnlyObject) -> "Policy":
        """Compile a policy object; compilation errors are reported when it is evaluated."""
        spec = obj["spec"]
        scope = variables_scope(spec)
        return cls(
            name=obj["metadata"]["name"],
            spec=spec,
            variables=named_values(spec),
            conditions=[compiled(one["expression"], scope, BOOL) for one in spec.get("matchConditions") or []],
            mutations=[Mutation.read(one, scope) for one in spec.get("mutations") or []],
        )

    def meets_conditions(self, one: Invocation) -> bool:
        """Return whether the match conditions are met; raise EvaluationError if they cannot be evaluated."""
        names = one.occasion.names(one.params, None)
        return met(self.conditions, activation(names, self.variables), fails=self.fails)

    def play(self, one: Invocation) -> Iterator[str]:
        """Apply the mutations one after the other; yield a text for each that fails."""
        for mutation in self.mutations:
            # Computed anew for each mutation, which sees the changes of those before it.
            names = one.occasion.names(one.params, Subject(one.occasion.request).namespace_object())
            try:
                mutation.play(one.occasion, activation(names, self.variables))
            except (Failed, OutOfBudget) as error:
                yield str(error)


class MutatingAdmissionPolicy(Plugin):
    """Changes objects as policies say."""

    name = "MutatingAdmissionPolicy"

    def __init__(self) -> None:
        self._compiled = Compilations(Policy.read)

    async def amend(self, request: Request, *, again: bool) -> bool:
        """Apply every matching policy; in a reinvocation only those that ask for it."""
        records = configured(request, "mutatingadmissionpolicies")
        if not records or Subject(request).exempt or not request.resource.services.caps.enabled(_GATE):
            return False
        play = partial(self._play, request, _State.of(request), records, again=again)
        return await request.resource.decided(play, request.call.size)

    def _play(self, request: Request, before: "_State", records: Sequence[Record], *, again: bool) -> bool:
        """Apply the policies to the original request."""
        # This may run several times, until all needed conversions are known, so it starts from the original state.
        request.obj, request.reinvocable = before.obj, set(before.reinvocable)
        policies = [self._compiled.of(record) for record in records]
        bindings = [record.load() for record in configured(request, "mutatingadmissionpolicybindings")]
        # All policies are matched with the original object, before any of them changes it.
        selected = [
            (policy, one) for policy in policies for one in invocations(request, policy.name, policy.spec, bindings)
        ]
        complaints = [
            Complaint(policy.name, one.binding, one.text)
            for policy, one in selected
            if isinstance(one, Misconfigured) and policy.fails
        ]
        for policy, one in selected:
            if isinstance(one, Invocation):
                complaints += _played(request, policy, one, again=again)
        if complaints:
            raise _refusal(request, complaints)
        return bool(request.obj != before.obj)


@dataclass(frozen=True, slots=True)
class _State:
    """State of a request before any policy was applied."""

    obj: Any
    reinvocable: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, request: Request) -> "_State":
        return cls(request.obj, frozenset(request.reinvocable))


def _played(request: Request, policy: Policy, one: Invocation, *, again: bool) -> list[Complaint]:
    """Apply a policy to a request if its conditions are met; return the errors that count."""
    try:
        if not policy.meets_conditions(one):
            return []
    except Failed as error:
        return [Complaint(policy.name, one.binding, str(error), "Invalid")]
    key = _key(policy, one)
    if again and key not in request.reinvocable:
        return []
    complaints = [Complaint(policy.name, one.binding, text, "Invalid") for text in policy.play(one)]
    if policy.reinvoked:
        request.reinvocable.add(key)
    return complaints if policy.fails else []


def _key(policy: Policy, one: Invocation) -> tuple[str, ...]:
    params = {} if one.params is None else one.params["metadata"]
    return policy.name, one.binding["metadata"]["name"], params.get("namespace", ""), params.get("name", "")


def _refusal(request: Request, complaints: Sequence[Complaint]) -> ApiError:
    """Return an error with all causes; the first is its message."""
    error = refuse(request, str(complaints[0]))
    error.message = str(complaints[0])
    error.reason = complaints[0].reason or error.reason
    error.details = {**(error.details or {}), "causes": [{"message": str(one)} for one in complaints]}
    return error
