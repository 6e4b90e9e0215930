"""ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings.

upstream 1.36: pkg/apis/admissionregistration/validation/validation.go
"""

import re
from typing import Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS
from mockkube.api.fields import (
    FieldError,
    duplicate,
    find_duplicate_indexes,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.admissionregistration.admission_rules import (
    FAILURE_POLICIES,
    REINVOCATION_POLICIES,
    PolicyExpressionCheck,
    accept_expression,
    validate_match_conditions,
    validate_match_resources,
)
from mockkube.api.kinds.admissionregistration.columns import PARAM_KIND_COLUMN, POLICY_BINDING, policy_cells
from mockkube.api.kinds.admissionregistration.defaults import (
    default_policy,
    default_policy_binding,
    default_policy_binding_v1alpha1,
)
from mockkube.api.kinds.admissionregistration.static_names import StaticNameStrategy, static_name_errors
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Printer, integer_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation import conditions
from mockkube.api.validation.formats import (
    validate_format,
    validate_qualified_name,
    validate_required_one_of,
    validate_subdomain,
)
from mockkube.api.validation.labels import validate_label_selector
from mockkube.api.validation.status_metadata import reset_metadata_for_status

ANNOTATIONS_MAX: Final = 20
ANNOTATION_BYTES_MAX: Final = 5 * 1024
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_PATCH_TYPES: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
# A mutation has nothing to change in a DELETE, so that operation is not allowed here.
_MUTATING_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_CEL_IDENTIFIER: Final = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")
_CEL_RESERVED_WORDS: Final = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_NO_RULES_DETAIL: Final = "validations or auditAnnotations must contain at least one item"


class ValidatingAdmissionPolicyStrategy(StaticNameStrategy, StatusStrategy):
    """Strategy of ValidatingAdmissionPolicy."""

    allow_unconditional_update = False

    def __init__(self, check_expression: PolicyExpressionCheck = accept_expression) -> None:
        self.check_expression = check_expression

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored spec and metadata."""
        super().prepare_for_status_update(new, old, context)
        reset_metadata_for_status(new, old)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field."""
        return self._validate(obj, None) + static_name_errors(obj, context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec, or the type checking results of a status."""
        return _validate_status(new) if context.subresource == "status" else self._validate(new, old)

    def _validate(self, obj: ReadOnlyObject, old: ReadOnlyObject | None) -> list[FieldError]:
        spec, check = obj["spec"], self.check_expression
        errors = _validate_policy_spec(obj, old, check)
        for index, variable in enumerate(spec.get("variables") or []):
            errors += _validate_variable(variable, f"spec.variables[{index}]", obj, check)
        validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
        # A policy without rules is reported under both fields, and nothing behind them is checked.
        if not validations and not annotations:
            return [
                *errors,
                required("spec.validations", _NO_RULES_DETAIL),
                required("spec.auditAnnotations", _NO_RULES_DETAIL),
            ]
        for index, each in enumerate(validations):
            errors += _validate_validation(each, f"spec.validations[{index}]", obj, check)
        if len(annotations) > ANNOTATIONS_MAX:
            # Upstream's internal types have no JSON tags: a list of them prints with Go's field names.
            shown = [
                {"Key": each.get("key", ""), "ValueExpression": each.get("valueExpression", "")} for each in annotations
            ]
            detail = f"must not have more than {ANNOTATIONS_MAX} auditAnnotations"
            errors.append(invalid("spec.auditAnnotations", shown, detail))
        keys = [each.get("key", "") for each in annotations]
        repeated = find_duplicate_indexes(keys)
        for index, each in enumerate(annotations):
            at = f"spec.auditAnnotations[{index}]"
            errors += _validate_audit_annotation(each, at, obj, check)
            if index in repeated:
                errors.append(duplicate(f"{at}.key", keys[index]))
        return errors


class MutatingAdmissionPolicyStrategy(StaticNameStrategy):
    """Strategy of MutatingAdmissionPolicy."""

    tracks_generation = True
    allow_unconditional_update = False

    def __init__(self, check_expression: PolicyExpressionCheck = accept_expression) -> None:
        self.check_expression = check_expression

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field."""
        return self._validate(obj, None) + static_name_errors(obj, context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field; unchanged match conditions are not compiled again."""
        return self._validate(new, old)

    def _validate(self, obj: ReadOnlyObject, old: ReadOnlyObject | None) -> list[FieldError]:
        spec, check = obj["spec"], self.check_expression
        errors = _validate_policy_spec(obj, old, check, operations=_MUTATING_OPERATIONS)
        for index, variable in enumerate(spec.get("variables") or []):
            errors += _validate_variable(variable, f"spec.variables[{index}]", obj, check)
        mutations = spec.get("mutations") or []
        if not mutations:
            errors.append(required("spec.mutations", "mutations must contain at least one item"))
        for index, mutation in enumerate(mutations):
            errors += _validate_mutation(mutation, f"spec.mutations[{index}]", obj, check)
        return errors + validate_required_one_of(
            spec.get("reinvocationPolicy"), "spec.reinvocationPolicy", REINVOCATION_POLICIES
        )


class ValidatingAdmissionPolicyBindingStrategy(StaticNameStrategy):
    """Strategy of ValidatingAdmissionPolicyBinding."""

    tracks_generation = True
    allow_unconditional_update = False

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate policy name, parameters, match resources and actions."""
        return _validate_validating_binding(obj["spec"]) + static_name_errors(obj, context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation."""
        return _validate_validating_binding(new["spec"])


class MutatingAdmissionPolicyBindingStrategy(StaticNameStrategy):
    """Strategy of MutatingAdmissionPolicyBinding."""

    tracks_generation = True
    allow_unconditional_update = False

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate policy name, parameters and match resources."""
        return _validate_mutating_binding(obj["spec"]) + static_name_errors(obj, context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation."""
        return _validate_mutating_binding(new["spec"])


def _validate_policy_spec(
    obj: ReadOnlyObject,
    old: ReadOnlyObject | None,
    check: PolicyExpressionCheck,
    *,
    operations: tuple[str, ...] = (),
) -> list[FieldError]:
    """Validate the fields of both kinds of policies: failure policy, parameters, matching."""
    spec, match = obj["spec"], obj["spec"].get("matchConstraints")
    policy = spec.get("failurePolicy")
    errors: list[FieldError] = []
    if policy is None:
        errors.append(required("spec.failurePolicy"))
    elif policy not in FAILURE_POLICIES:
        errors.append(not_supported("spec.failurePolicy", policy, FAILURE_POLICIES))
    if spec.get("paramKind") is not None:
        errors += _validate_param_kind(spec["paramKind"], "spec.paramKind")
    if match is None:
        errors.append(required("spec.matchConstraints"))
    else:
        errors += validate_match_resources(match, "spec.matchConstraints")
        if not match.get("resourceRules"):
            errors.append(required("spec.matchConstraints.resourceRules"))
        if operations:
            errors += _validate_operations(match, "spec.matchConstraints", operations)
    # Unchanged match conditions are not compiled again, so that a policy stays writable when a newer CEL environment
    # rejects them. The type of `params` depends on paramKind, so that has to be unchanged, too.
    match_fields = ("paramKind", "matchConditions")
    if old is not None and all(spec.get(name) == old["spec"].get(name) for name in match_fields):
        return errors
    return errors + validate_match_conditions(spec.get("matchConditions"), "spec.matchConditions", obj, check)


def _validate_operations(match: ReadOnlyObject, at: str, supported: tuple[str, ...]) -> list[FieldError]:
    given = [each for rule in match.get("resourceRules") or [] for each in rule.get("operations") or []]
    at = f"{at}.resourceRules.operations"
    return [not_supported(at, each, supported) for each in given if each not in supported]


def _validate_param_kind(kind: ReadOnlyObject, at: str) -> list[FieldError]:
    api_version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    errors = []
    if not api_version:
        errors.append(required(f"{at}.apiVersion"))
    elif api_version.count("/") > 1:
        errors.append(invalid(f"{at}.apiVersion", api_version, f"unexpected GroupVersion string: {api_version}"))
    else:
        group, _, version = api_version.rpartition("/")
        messages = names.check_dns_subdomain(group) if group else []
        if messages:
            errors.append(invalid(f"{at}.apiVersion", group, ",".join(messages)))
        messages = names.check_dns1035_label(version)
        if not version:
            errors.append(invalid(f"{at}.apiVersion", api_version, "version must be specified"))
        elif messages:
            errors.append(invalid(f"{at}.apiVersion", version, ",".join(messages)))
    messages = names.check_dns1035_label(name.lower())
    if not name:
        errors.append(required(f"{at}.kind"))
    elif messages:
        detail = "may have mixed case, but should otherwise match: " + ",".join(messages)
        errors.append(invalid(f"{at}.kind", name, detail))
    return errors


def _validate_variable(
    variable: ReadOnlyObject, at: str, obj: ReadOnlyObject, check: PolicyExpressionCheck
) -> list[FieldError]:
    name, expression = variable.get("name", ""), variable.get("expression", "")
    errors = []
    if not name.strip():
        errors.append(required(f"{at}.name", "name is not specified"))
    elif not _CEL_IDENTIFIER.fullmatch(name) or name in _CEL_RESERVED_WORDS:
        errors.append(invalid(f"{at}.name", name, "must be a valid CEL identifier"))
    if not expression.strip():
        return [*errors, required(f"{at}.expression", "expression is not specified")]
    return errors + check(expression, f"{at}.expression", "variable", obj)


def _validate_validation(
    each: ReadOnlyObject, at: str, obj: ReadOnlyObject, check: PolicyExpressionCheck
) -> list[FieldError]:
    expression, message, computed = (each.get(name, "") for name in ("expression", "message", "messageExpression"))
    errors: list[FieldError] = []
    if expression.strip():
        errors += check(expression, f"{at}.expression", "validation", obj)
    else:
        errors.append(required(f"{at}.expression", "expression is not specified"))
    if computed and not computed.strip():
        errors.append(invalid(f"{at}.messageExpression", computed, "must be non-empty if specified"))
    elif computed:
        errors += check(computed, f"{at}.messageExpression", "message", obj)
    if message and not message.strip():
        errors.append(invalid(f"{at}.message", message, "must be non-empty if specified"))
    elif "\n" in message.strip() or "\r" in message.strip():
        errors.append(invalid(f"{at}.message", message, "must not contain line breaks"))
    reason = each.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(not_supported(f"{at}.reason", reason, _REASONS))
    return errors


def _validate_audit_annotation(
    each: ReadOnlyObject, at: str, obj: ReadOnlyObject, check: PolicyExpressionCheck
) -> list[FieldError]:
    name, key, expression = (
        obj["metadata"].get("name", ""),
        each.get("key", ""),
        each.get("valueExpression", "").strip(),
    )
    # The audit annotation's key is prefixed with the policy's name, so both together must be a qualified name. A policy
    # with generateName has no name yet.
    if name:
        errors = validate_qualified_name(f"{name}/{key}", f"{at}.key")
    else:
        errors = [invalid(f"{at}.key", key, "requires metadata.name be non-empty")]
    at = f"{at}.valueExpression"
    if not expression:
        return [*errors, required(at, "valueExpression is not specified")]
    if len(expression.encode()) > ANNOTATION_BYTES_MAX:
        # Upstream reports an expression that is too long as a required value.
        return [*errors, required(at, f"must not exceed {ANNOTATION_BYTES_MAX} bytes in length")]
    return errors + check(expression, at, "auditAnnotation", obj)


def _validate_mutation(
    mutation: ReadOnlyObject, at: str, obj: ReadOnlyObject, check: PolicyExpressionCheck
) -> list[FieldError]:
    kind = mutation.get("patchType", "")
    if kind not in _PATCH_TYPES:
        return validate_required_one_of(kind, f"{at}.patchType", tuple(_PATCH_TYPES))
    name = _PATCH_TYPES[kind]
    (other,) = (field for field in _PATCH_TYPES.values() if field != name)
    errors: list[FieldError] = []
    if mutation.get(name) is None:
        errors.append(required(f"{at}.{name}", f"must be specified when patchType is {kind}"))
    else:
        expression = mutation[name].get("expression", "").strip()
        here = f"{at}.{name}.expression"
        errors += check(expression, here, name, obj) if expression else [required(here)]
    if mutation.get(other) is not None:
        # Upstream prints the field's name in braces instead of its value.
        detail = f"must not be specified when patchType is {kind}"
        errors.append(invalid(f"{at}.{other}", f"{{{other}}}", detail))
    return errors


def _validate_binding(spec: ReadOnlyObject) -> list[FieldError]:
    name = spec.get("policyName", "")
    errors = validate_subdomain(name, "spec.policyName") if name else [required("spec.policyName")]
    if spec.get("paramRef") is not None:
        errors += _validate_param_ref(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        errors += validate_match_resources(spec["matchResources"], "spec.matchResources")
    return errors


def _validate_validating_binding(spec: ReadOnlyObject) -> list[FieldError]:
    return _validate_binding(spec) + _validate_validation_actions(spec.get("validationActions") or [])


def _validate_mutating_binding(spec: ReadOnlyObject) -> list[FieldError]:
    match = spec.get("matchResources") or {}
    return _validate_binding(spec) + _validate_operations(match, "spec.matchResources", _MUTATING_OPERATIONS)


def _validate_param_ref(reference: ReadOnlyObject, at: str) -> list[FieldError]:
    name, selector = reference.get("name", ""), reference.get("selector")
    both = "name and selector are mutually exclusive"
    errors = validate_format(name, f"{at}.name", names.check_path_segment) if name else []
    if name and selector is not None:
        errors.append(forbidden(f"{at}.name", both))
    if selector is not None:
        errors += validate_label_selector(selector, f"{at}.selector")
        if name:
            errors.append(forbidden(f"{at}.selector", both))
    if not name and selector is None:
        errors.append(required(at, "one of name or selector must be specified"))
    action, at = reference.get("parameterNotFoundAction"), f"{at}.parameterNotFoundAction"
    return errors + validate_required_one_of(action, at, ("Deny", "Allow"))


def _validate_validation_actions(actions: list[str]) -> list[FieldError]:
    at = "spec.validationActions"
    errors = []
    repeated = find_duplicate_indexes(actions)
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(f"{at}[{index}]", action, _ACTIONS))
        if index in repeated:
            errors.append(duplicate(f"{at}[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        detail = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        errors.append(invalid(at, actions, detail))
    return errors if actions else [*errors, required(at, "at least one validation action is required")]


def _validate_status(obj: ReadOnlyObject) -> list[FieldError]:
    status, at = obj.get("status") or {}, "status.typeChecking.expressionWarnings"
    errors: list[FieldError] = []
    for index, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or []):
        if not warning.get("warning"):
            errors.append(required(f"{at}[{index}].warning"))
        if not warning.get("fieldRef", "").strip():
            errors.append(required(f"{at}[{index}].fieldRef"))
    return errors + conditions.validate_conditions(status.get("conditions"), "status.conditions")


VALIDATING_POLICY = Printer(
    (NAME_COLUMN, integer_column("Validations", "Number of validations."), PARAM_KIND_COLUMN, AGE_COLUMN),
    policy_cells("validations"),
)
MUTATING_POLICY = Printer(
    (NAME_COLUMN, integer_column("Mutations", "Number of mutations."), PARAM_KIND_COLUMN, AGE_COLUMN),
    policy_cells("mutations"),
)

MUTATING_ADMISSION_POLICY_KIND: Final = Kind(
    "admissionregistration.k8s.io",
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    namespaced=False,
    categories=("api-extensions",),
    versions=("v1", "v1beta1", "v1alpha1"),
    strategy=lambda dependencies: MutatingAdmissionPolicyStrategy(dependencies.policy_expression),
    defaults=dict.fromkeys(("v1", "v1beta1", "v1alpha1"), default_policy),
    printer=MUTATING_POLICY,
)
MUTATING_ADMISSION_POLICY_BINDING_KIND: Final = Kind(
    "admissionregistration.k8s.io",
    "MutatingAdmissionPolicyBinding",
    "mutatingadmissionpolicybindings",
    namespaced=False,
    categories=("api-extensions",),
    versions=("v1", "v1beta1", "v1alpha1"),
    strategy=lambda _: MutatingAdmissionPolicyBindingStrategy(),
    defaults={
        "v1": default_policy_binding,
        "v1beta1": default_policy_binding,
        "v1alpha1": default_policy_binding_v1alpha1,
    },
    printer=POLICY_BINDING,
)
VALIDATING_ADMISSION_POLICY_KIND: Final = Kind(
    "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    namespaced=False,
    categories=("api-extensions",),
    versions=("v1", "v1beta1"),
    subresources=(STATUS,),
    strategy=lambda dependencies: ValidatingAdmissionPolicyStrategy(dependencies.policy_expression),
    defaults=dict.fromkeys(("v1", "v1beta1"), default_policy),
    printer=VALIDATING_POLICY,
)
VALIDATING_ADMISSION_POLICY_BINDING_KIND: Final = Kind(
    "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
    categories=("api-extensions",),
    versions=("v1", "v1beta1"),
    strategy=lambda _: ValidatingAdmissionPolicyBindingStrategy(),
    defaults=dict.fromkeys(("v1", "v1beta1"), default_policy_binding),
    printer=POLICY_BINDING,
)
