"""ValidatingAdmissionPolicy: reject objects by the CEL expressions of policies."""

# upstream 1.36: apiserver/pkg/admission/plugin/policy/validating
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube_cel.environment import Compiled

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.admission.policies.bindings import CompiledPolicies, PolicyMisconfiguration, find_evaluations
from mockkube.apiserver.admission.policies.conditions import conditions_match
from mockkube.apiserver.admission.policies.evaluation import (
    POLICY_COST_MAX,
    Activation,
    CelBudgetExceeded,
    CostBudget,
    EvaluationError,
    VersionedAttributes,
    make_activation,
)
from mockkube.apiserver.admission.policies.expressions import (
    ANNOTATION,
    BOOL,
    MESSAGE,
    compile_expression,
    compile_variables,
    policy_scope,
)
from mockkube.apiserver.admission.policies.matching import (
    ConfiguredRules,
    RequestMatcher,
    list_configuration,
    read_policy_criteria,
)
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.lazy_dataclasses import dataclass

MESSAGE_BYTES_MAX: Final = 5 * 1024
_HTTP_CODES: Final = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_INVALID: Final = "Invalid"


@dataclass(frozen=True, slots=True)
class Denial:
    """Message and reason with which a policy rejects a request."""

    message: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CompiledValidation:
    """Compiled validation of a policy, with its message expression."""

    raw: ReadOnlyObject
    program: Compiled
    message: Compiled | None

    def failure_message(self, computed: object) -> str:
        """Return the text of a failure: the computed message if usable, else the fixed one, else the expression."""
        text = computed.strip() if isinstance(computed, str) else ""
        if text and "\n" not in text and len(text.encode()) <= MESSAGE_BYTES_MAX:
            return text
        return self.raw.get("message", "").strip() or f"failed expression: {self.raw.get('expression', '').strip()}"


@dataclass(frozen=True, slots=True)
class CompiledValidatingPolicy:
    """Compiled ValidatingAdmissionPolicy."""

    name: str
    spec: ReadOnlyObject
    variables: Mapping[str, Compiled]
    conditions: Sequence[Compiled]
    validations: Sequence[CompiledValidation]
    annotations: Sequence[Compiled]

    @property
    def fails_closed(self) -> bool:
        """True if errors of the policy reject the request."""
        return bool(self.spec.get("failurePolicy") != "Ignore")

    @classmethod
    def compile(cls, obj: ReadOnlyObject) -> "CompiledValidatingPolicy":
        """Compile a policy object; compilation errors are reported when it is evaluated."""
        spec = obj["spec"]
        scope = policy_scope(spec)
        validations = []
        for raw in spec.get("validations") or []:
            text = raw.get("messageExpression", "").strip()
            message = compile_expression(text, scope.without_authorizer(), MESSAGE) if text else None
            validations.append(
                CompiledValidation(raw, compile_expression(raw.get("expression", "").strip(), scope, BOOL), message)
            )
        return cls(
            name=obj["metadata"]["name"],
            spec=spec,
            variables=compile_variables(spec),
            conditions=[
                compile_expression(one["expression"], scope, BOOL) for one in spec.get("matchConditions") or []
            ],
            validations=validations,
            annotations=[
                compile_expression(one["valueExpression"].strip(), scope, ANNOTATION)
                for one in spec.get("auditAnnotations") or []
            ],
        )

    def find_denials(
        self, attributes: VersionedAttributes, params: ReadOnlyObject | None, namespace: ReadOnlyObject | None
    ) -> list[Denial]:
        """Return the denials of the policy for a request."""
        names = attributes.make_variables(params, namespace)
        try:
            if not conditions_match(
                # upstream: namespaceObject is not available to match conditions.
                self.conditions,
                make_activation({**names, "namespaceObject": None}, self.variables),
                fail_closed=self.fails_closed,
            ):
                return []
            budget = CostBudget(POLICY_COST_MAX)
            found = make_activation(names, self.variables)
            return [*self._evaluate_validations(found, budget), *self._evaluate_annotations(found)]
        except (EvaluationError, CelBudgetExceeded) as error:
            return [Denial(str(error))] if self.fails_closed else []

    def _evaluate_validations(self, found: Activation, budget: CostBudget) -> list[Denial]:
        values: list[object] = []
        for validation in self.validations:
            try:
                values.append(found.evaluate(validation.program, budget))
            except EvaluationError as error:
                values.append(error)
        # All validations are evaluated before any message, whose cost would else leave less for the validations.
        denials = []
        for validation, value in zip(self.validations, values, strict=True):
            if isinstance(value, EvaluationError):
                denials += [Denial(str(value))] if self.fails_closed else []
            elif value is not True:
                computed = self._evaluate_message(validation, found, budget)
                denials.append(Denial(validation.failure_message(computed), validation.raw.get("reason") or _INVALID))
        return denials

    def _evaluate_message(self, validation: CompiledValidation, found: Activation, budget: CostBudget) -> object:
        if validation.message is None:
            return None
        try:
            return found.evaluate(validation.message, budget)
        except EvaluationError:
            return None
        except CelBudgetExceeded as error:
            raise EvaluationError(f"failed messageExpression: {error}") from error

    def _evaluate_annotations(self, found: Activation) -> list[Denial]:
        """Evaluate the audit annotations, which can fail; there is no audit log to write them to."""
        budget, denials = CostBudget(POLICY_COST_MAX), []
        for program in self.annotations:
            try:
                found.evaluate(program, budget)
            except EvaluationError as error:
                denials += [Denial(str(error))] if self.fails_closed else []
        return denials


class ValidatingAdmissionPolicy(AdmissionPlugin):
    """Rejects or warns as policies say."""

    name = "ValidatingAdmissionPolicy"
    operations = tuple(Operation)

    def __init__(self) -> None:
        self._policies = CompiledPolicies(CompiledValidatingPolicy.compile)
        self._rules = ConfiguredRules("validatingadmissionpolicies", read_policy_criteria)

    def validate(self, request: AdmissionAttributes) -> None:
        """Evaluate every matching policy."""
        policies = list_configuration(request, "validatingadmissionpolicies")
        if not policies or RequestMatcher(request).is_exempt:
            return
        bindings = [cached.load() for cached in list_configuration(request, "validatingadmissionpolicybindings")]
        for cached in policies:
            policy = self._policies.get(cached)
            for binding, denial in _find_denials(policy, bindings, request):
                raise _rejection(request, policy, binding, denial)

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return whether the rules of a policy select the request."""
        return self._rules.may_match(request)


def _find_denials(
    policy: CompiledValidatingPolicy, bindings: Sequence[ReadOnlyObject], request: AdmissionAttributes
) -> Iterator[tuple[ReadOnlyObject | None, Denial]]:
    """Yield the denials of a policy with their bindings; turn those of `Warn` bindings into warnings."""
    for one in find_evaluations(request, policy.name, policy.spec, bindings):
        if isinstance(one, PolicyMisconfiguration):
            if policy.fails_closed:
                yield one.binding, Denial(one.message)
            continue
        for denial in policy.find_denials(one.attributes, one.params, RequestMatcher(request).namespace_object()):
            yield from _apply_actions(request, policy, one.binding, denial)


def _apply_actions(
    request: AdmissionAttributes, policy: CompiledValidatingPolicy, binding: ReadOnlyObject, denial: Denial
) -> Iterator[tuple[ReadOnlyObject, Denial]]:
    actions = binding["spec"].get("validationActions") or ()
    if "Warn" in actions:
        about = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding['metadata']['name']}'"
        request.scope.warn([f"Validation failed for {about}: {denial.message}"])
    if "Deny" in actions:
        yield binding, denial


def _rejection(
    request: AdmissionAttributes, policy: CompiledValidatingPolicy, binding: ReadOnlyObject | None, denial: Denial
) -> ApiError:
    policy_text = f"ValidatingAdmissionPolicy '{policy.name}'"
    if binding is not None:
        policy_text += f" with binding '{binding['metadata']['name']}'"
    message = f"{policy_text} denied request: {denial.message}"
    error = new_forbidden(request, message)
    error.reason = denial.reason or _INVALID
    error.code = _HTTP_CODES.get(error.reason, 422)
    error.details = {**(error.details or {}), "causes": [{"message": message}]}
    return error
