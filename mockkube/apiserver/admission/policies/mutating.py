"""MutatingAdmissionPolicy: change objects by the CEL expressions of policies."""

# upstream 1.36: apiserver/pkg/admission/plugin/policy/mutating
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from mockkube_cel.environment import Compiled

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.admission.policies.bindings import (
    CompiledPolicies,
    PolicyEvaluation,
    PolicyMisconfiguration,
    find_evaluations,
)
from mockkube.apiserver.admission.policies.conditions import conditions_match
from mockkube.apiserver.admission.policies.evaluation import CelBudgetExceeded, EvaluationError, make_activation
from mockkube.apiserver.admission.policies.expressions import BOOL, compile_expression, compile_variables, policy_scope
from mockkube.apiserver.admission.policies.matching import (
    ConfiguredRules,
    RequestMatcher,
    list_configuration,
    read_policy_criteria,
)
from mockkube.apiserver.admission.policies.mutations import CompiledMutation
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.lazy_dataclasses import dataclass

_GATE: Final = "MutatingAdmissionPolicy"


@dataclass(frozen=True, slots=True)
class PolicyError:
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
class CompiledMutatingPolicy:
    """Compiled MutatingAdmissionPolicy."""

    name: str
    spec: ReadOnlyObject
    variables: Mapping[str, Compiled]
    conditions: Sequence[Compiled]
    mutations: Sequence[CompiledMutation]

    @property
    def fails_closed(self) -> bool:
        """True if errors of the policy reject the request."""
        return bool(self.spec.get("failurePolicy") != "Ignore")

    @property
    def is_reinvocable(self) -> bool:
        """True if it runs again if the object changed after it."""
        return bool(self.spec.get("reinvocationPolicy") == "IfNeeded")

    @classmethod
    def compile(cls, obj: ReadOnlyObject) -> "CompiledMutatingPolicy":
        """Compile a policy object; compilation errors are reported when it is evaluated."""
        spec = obj["spec"]
        scope = policy_scope(spec)
        return cls(
            name=obj["metadata"]["name"],
            spec=spec,
            variables=compile_variables(spec),
            conditions=[
                compile_expression(one["expression"], scope, BOOL) for one in spec.get("matchConditions") or []
            ],
            mutations=[CompiledMutation.compile(one, scope) for one in spec.get("mutations") or []],
        )

    def meets_conditions(self, one: PolicyEvaluation) -> bool:
        """Return whether the match conditions are met; raise EvaluationError if they cannot be evaluated."""
        names = one.attributes.make_variables(one.params, None)
        return conditions_match(self.conditions, make_activation(names, self.variables), fail_closed=self.fails_closed)

    def apply_mutations(self, one: PolicyEvaluation) -> Iterator[str]:
        """Apply the mutations one after the other; yield a text for each that fails."""
        for mutation in self.mutations:
            # Computed anew for each mutation, which sees the changes of those before it.
            names = one.attributes.make_variables(one.params, RequestMatcher(one.attributes.request).namespace_object())
            try:
                mutation.apply(one.attributes, make_activation(names, self.variables))
            except (EvaluationError, CelBudgetExceeded) as error:
                yield str(error)


class MutatingAdmissionPolicy(AdmissionPlugin):
    """Changes objects as policies say."""

    name = "MutatingAdmissionPolicy"

    def __init__(self) -> None:
        self._policies = CompiledPolicies(CompiledMutatingPolicy.compile)
        self._rules = ConfiguredRules("mutatingadmissionpolicies", read_policy_criteria)

    async def admit_async(self, request: AdmissionAttributes, *, reinvocation: bool) -> bool:
        """Apply every matching policy; in a reinvocation only those that ask for it."""
        cached_objects = list_configuration(request, "mutatingadmissionpolicies")
        if (
            not cached_objects
            or RequestMatcher(request).is_exempt
            or not request.resource.dependencies.capabilities.enabled(_GATE)
        ):
            return False
        play = partial(
            self._apply_policies,
            request,
            _RequestState.from_request(request),
            cached_objects,
            reinvocation=reinvocation,
        )
        return await request.resource.run_with_conversions(play, request.scope.body_bytes)

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return whether the rules of a policy select the request."""
        return self._rules.may_match(request)

    def _apply_policies(
        self,
        request: AdmissionAttributes,
        before: "_RequestState",
        cached_objects: Sequence[CachedObject],
        *,
        reinvocation: bool,
    ) -> bool:
        """Apply the policies to the original request."""
        # This may run several times, until all needed conversions are known, so it starts from the original state.
        request.obj, request.reinvocable = before.obj, set(before.reinvocable)
        policies = [self._policies.get(cached) for cached in cached_objects]
        bindings = [cached.load() for cached in list_configuration(request, "mutatingadmissionpolicybindings")]
        # All policies are matched with the original object, before any of them changes it.
        selected = [
            (policy, one)
            for policy in policies
            for one in find_evaluations(request, policy.name, policy.spec, bindings)
        ]
        errors = [
            PolicyError(policy.name, one.binding, one.message)
            for policy, one in selected
            if isinstance(one, PolicyMisconfiguration) and policy.fails_closed
        ]
        for policy, one in selected:
            if isinstance(one, PolicyEvaluation):
                errors += _apply_policy(request, policy, one, reinvocation=reinvocation)
        if errors:
            raise _rejection(request, errors)
        return bool(request.obj != before.obj)


@dataclass(frozen=True, slots=True)
class _RequestState:
    """State of a request before any policy was applied."""

    obj: Any
    reinvocable: frozenset[tuple[str, ...]]

    @classmethod
    def from_request(cls, request: AdmissionAttributes) -> "_RequestState":
        return cls(request.obj, frozenset(request.reinvocable))


def _apply_policy(
    request: AdmissionAttributes, policy: CompiledMutatingPolicy, one: PolicyEvaluation, *, reinvocation: bool
) -> list[PolicyError]:
    """Apply a policy to a request if its conditions are met; return the errors that count."""
    try:
        if not policy.meets_conditions(one):
            return []
    except EvaluationError as error:
        return [PolicyError(policy.name, one.binding, str(error), "Invalid")]
    key = _evaluation_key(policy, one)
    if reinvocation and key not in request.reinvocable:
        return []
    errors = [PolicyError(policy.name, one.binding, text, "Invalid") for text in policy.apply_mutations(one)]
    if policy.is_reinvocable:
        request.reinvocable.add(key)
    return errors if policy.fails_closed else []


def _evaluation_key(policy: CompiledMutatingPolicy, one: PolicyEvaluation) -> tuple[str, ...]:
    params = {} if one.params is None else one.params["metadata"]
    return policy.name, one.binding["metadata"]["name"], params.get("namespace", ""), params.get("name", "")


def _rejection(request: AdmissionAttributes, errors: Sequence[PolicyError]) -> ApiError:
    """Return an error with all causes; the first is its message."""
    error = new_forbidden(request, str(errors[0]))
    error.message = str(errors[0])
    error.reason = errors[0].reason or error.reason
    error.details = {**(error.details or {}), "causes": [{"message": str(one)} for one in errors]}
    return error
