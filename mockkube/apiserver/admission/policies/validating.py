"""ValidatingAdmissionPolicy: reject objects by the CEL expressions of policies."""

# upstream 1.36: apiserver/pkg/admission/plugin/policy/validating
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube_cel.environment import Compiled

from mockkube.api.errors import ApiError
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.admission.policies.bindings import Compilations, Misconfigured, invocations
from mockkube.apiserver.admission.policies.conditions import met
from mockkube.apiserver.admission.policies.evaluation import (
    COST_MAX,
    Activation,
    Budget,
    Failed,
    Occasion,
    OutOfBudget,
    activation,
)
from mockkube.apiserver.admission.policies.expressions import (
    ANNOTATION,
    BOOL,
    MESSAGE,
    compiled,
    named_values,
    variables_scope,
)
from mockkube.apiserver.admission.policies.matching import Subject, configured
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Operation, Plugin, Request

MESSAGE_BYTES_MAX: Final = 5 * 1024
_CODES: Final = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_INVALID: Final = "Invalid"


@dataclass(frozen=True, slots=True)
class Denial:
    """Message and reason with which a policy rejects a request."""

    message: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Validation:
    """Compiled validation of a policy, with its message expression."""

    raw: ReadOnlyObject
    program: Compiled
    message: Compiled | None

    def text(self, computed: object) -> str:
        """Return the text of a failure: the computed message if usable, else the fixed one, else the expression."""
        text = computed.strip() if isinstance(computed, str) else ""
        if text and "\n" not in text and len(text.encode()) <= MESSAGE_BYTES_MAX:
            return text
        return self.raw.get("message", "").strip() or f"failed expression: {self.raw.get('expression', '').strip()}"


@dataclass(frozen=True, slots=True)
class Policy:
    """Compiled ValidatingAdmissionPolicy."""

    name: str
    spec: ReadOnlyObject
    variables: Mapping[str, Compiled]
    conditions: Sequence[Compiled]
    validations: Sequence[Validation]
    annotations: Sequence[Compiled]

    @property
    def fails(self) -> bool:
        """True if errors of the policy reject the request."""
        return bool(self.spec.get("failurePolicy") != "Ignore")

    @classmethod
    def read(cls, obj: ReadOnlyObject) -> "Policy":
        """Compile a policy object; compilation errors are reported when it is evaluated."""
        spec = obj["spec"]
        scope = variables_scope(spec)
        validations = []
        for raw in spec.get("validations") or []:
            text = raw.get("messageExpression", "").strip()
            message = compiled(text, scope.without_authorizer(), MESSAGE) if text else None
            validations.append(Validation(raw, compiled(raw.get("expression", "").strip(), scope, BOOL), message))
        return cls(
            name=obj["metadata"]["name"],
            spec=spec,
            variables=named_values(spec),
            conditions=[compiled(one["expression"], scope, BOOL) for one in spec.get("matchConditions") or []],
            validations=validations,
            annotations=[
                compiled(one["valueExpression"].strip(), scope, ANNOTATION)
                for one in spec.get("auditAnnotations") or []
            ],
        )

    def judge(
        self, occasion: Occasion, params: ReadOnlyObject | None, namespace: ReadOnlyObject | None
    ) -> list[Denial]:
        """Return the denials of the policy for a request."""
        names = occasion.names(params, namespace)
        try:
            if not met(
                # upstream: namespaceObject is not available to match conditions.
                self.conditions,
                activation({**names, "namespaceObject": None}, self.variables),
                fails=self.fails,
            ):
                return []
            budget = Budget(COST_MAX)
            found = activation(names, self.variables)
            return [*self._judge_all(found, budget), *self._annotate(found)]
        except (Failed, OutOfBudget) as error:
            return [Denial(str(error))] if self.fails else []

    def _judge_all(self, found: Activation, budget: Budget) -> list[Denial]:
        values: list[object] = []
        for validation in self.validations:
            try:
                values.append(found.evaluate(validation.program, budget))
            except Failed as error:
                values.append(error)
        # All validations are evaluated before any message, whose cost would else leave less for the validations.
        denials = []
        for validation, value in zip(self.validations, values, strict=True):
            if isinstance(value, Failed):
                denials += [Denial(str(value))] if self.fails else []
            elif value is not True:
                computed = self._computed(validation, found, budget)
                denials.append(Denial(validation.text(computed), validation.raw.get("reason") or _INVALID))
        return denials

    def _computed(self, validation: Validation, found: Activation, budget: Budget) -> object:
        if validation.message is None:
            return None
        try:
            return found.evaluate(validation.message, budget)
        except Failed:
            return None
        except OutOfBudget as error:
            raise Failed(f"failed messageExpression: {error}") from error

    def _annotate(self, found: Activation) -> list[Denial]:
        """Evaluate the audit annotations, which can fail; there is no audit log to write them to."""
        budget, denials = Budget(COST_MAX), []
        for program in self.annotations:
            try:
                found.evaluate(program, budget)
            except Failed as error:
                denials += [Denial(str(error))] if self.fails else []
        return denials


class ValidatingAdmissionPolicy(Plugin):
    """Rejects or warns as policies say."""

    name = "ValidatingAdmissionPolicy"
    operations = (Operation.CREATE, Operation.UPDATE, Operation.DELETE)

    def __init__(self) -> None:
        self._compiled = Compilations(Policy.read)

    def validate(self, request: Request) -> None:
        """Evaluate every matching policy."""
        policies = configured(request, "validatingadmissionpolicies")
        if not policies or Subject(request).exempt:
            return
        bindings = [record.load() for record in configured(request, "validatingadmissionpolicybindings")]
        for record in policies:
            policy = self._compiled.of(record)
            for binding, denial in _denials(policy, bindings, request):
                raise _refusal(request, policy, binding, denial)


def _denials(
    policy: Policy, bindings: Sequence[ReadOnlyObject], request: Request
) -> Iterator[tuple[ReadOnlyObject | None, Denial]]:
    """Yield the denials of a policy with their bindings; turn those of `Warn` bindings into warnings."""
    for one in invocations(request, policy.name, policy.spec, bindings):
        if isinstance(one, Misconfigured):
            if policy.fails:
                yield one.binding, Denial(one.text)
            continue
        for denial in policy.judge(one.occasion, one.params, Subject(request).namespace_object()):
            yield from _acted_upon(request, policy, one.binding, denial)


def _acted_upon(
    request: Request, policy: Policy, binding: ReadOnlyObject, denial: Denial
) -> Iterator[tuple[ReadOnlyObject, Denial]]:
    actions = binding["spec"].get("validationActions") or ()
    if "Warn" in actions:
        about = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding['metadata']['name']}'"
        request.call.warn([f"Validation failed for {about}: {denial.message}"])
    if "Deny" in actions:
        yield binding, denial


def _refusal(request: Request, policy: Policy, binding: ReadOnlyObject | None, denial: Denial) -> ApiError:
    who = f"ValidatingAdmissionPolicy '{policy.name}'"
    if binding is not None:
        who += f" with binding '{binding['metadata']['name']}'"
    message = f"{who} denied request: {denial.message}"
    error = refuse(request, message)
    error.reason = denial.reason or _INVALID
    error.code = _CODES.get(error.reason, 422)
    error.details = {**(error.details or {}), "causes": [{"message": message}]}
    return error
