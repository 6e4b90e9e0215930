"""Validate the spec of a job, alone or in the template of a cron job."""

from collections.abc import Collection
from typing import Final

from mockkube.api import names
from mockkube.api.fields import (
    FieldError,
    duplicate,
    find_duplicate_indexes,
    invalid,
    not_supported,
    quote,
    required,
    too_long,
    too_many,
)
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.apps.pod_owners import TemplateValidator
from mockkube.api.kinds.batch.indexes import count_indexes
from mockkube.api.kinds.core.pod.template import pod_template_warnings
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.formats import validate_domain_prefixed_path, validate_one_of, validate_qualified_name
from mockkube.api.validation.internal_form import InternalShape, make_optional, to_internal
from mockkube.api.validation.numbers import validate_nonnegative_fields


def default_failure_policy(spec: Object) -> None:
    """Default the status of onPodConditions patterns to True."""
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


INDEXED: Final = "Indexed"
PARALLELISM_MAX: Final = 100_000
FAILED_INDEXES_MAX: Final = 100_000
# Above this number, completed and failed indexes could make the status too large for etcd, so that parallelism and
# failed indexes have lower limits.
HIGH_COMPLETIONS: Final = 100_000
HIGH_COMPLETIONS_PARALLELISM_MAX: Final = 10_000
HIGH_COMPLETIONS_FAILED_INDEXES_MAX: Final = 10_000
RULES_MAX: Final = 20
EXIT_CODES_MAX: Final = 255
CONDITIONS_MAX: Final = 20
MANAGED_BY_BYTES_MAX: Final = 63
INDEXES_BYTES_MAX: Final = 64 * 1024
_COMPLETION_MODES: Final = ("NonIndexed", INDEXED)
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_EXIT_CODE_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_REPLACEMENT_POLICIES: Final = ("Failed", "TerminatingOrFailed")
_SUCCESS_POLICY_SHAPE: Final[InternalShape] = (
    (
        "Rules",
        "rules",
        make_optional((("SucceededIndexes", "succeededIndexes", None), ("SucceededCount", "succeededCount", None))),
    ),
)
_COUNTS: Final = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    "backoffLimitPerIndex",
)


def validate_job_spec(
    spec: ReadOnlyObject, before: ReadOnlyObject | None, at: str, validator: TemplateValidator
) -> list[FieldError]:
    """Validate every field but the selector."""
    # upstream 1.36: pkg/apis/batch/validation/validation.go, validateJobSpec
    errors = validate_nonnegative_fields(spec, at, *_COUNTS, "maxFailedIndexes")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{at}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        errors += validate_domain_prefixed_path(spec["managedBy"], f"{at}.managedBy")
        if names.byte_length(spec["managedBy"]) > MANAGED_BY_BYTES_MAX:
            errors.append(too_long(f"{at}.managedBy", MANAGED_BY_BYTES_MAX))
    errors += _validate_completion_mode(spec, at)
    if spec.get("podFailurePolicy") is not None:
        errors += _validate_failure_policy(spec, f"{at}.podFailurePolicy")
    if spec.get("successPolicy") is not None:
        errors += _validate_success_policy(spec, f"{at}.successPolicy")
    errors += _validate_replacement_policy(spec, f"{at}.podReplacementPolicy")
    template = spec.get("template") or {}
    old = before.get("template") if before is not None else None
    errors += validator.validate(template, old, f"{at}.template")
    return errors + _validate_restart_policy(spec, f"{at}.template.spec.restartPolicy")


def job_spec_warnings(spec: ReadOnlyObject, at: str, context: StrategyContext) -> list[str]:
    """Warn about indexes that may not be trackable, and about the pod template."""
    warnings = []
    is_large = (spec.get("completions") or 0) > HIGH_COMPLETIONS and (
        spec.get("parallelism") or 0
    ) > HIGH_COMPLETIONS_PARALLELISM_MAX
    if spec.get("completionMode") == INDEXED and is_large:
        warnings.append(
            f"{at}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
            "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    return warnings + pod_template_warnings(spec.get("template") or {}, f"{at}.template", context)


def _validate_completion_mode(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    mode = spec.get("completionMode")
    errors = []
    if mode is not None and mode not in _COMPLETION_MODES:
        errors.append(not_supported(f"{at}.completionMode", mode, _COMPLETION_MODES))
    if mode == INDEXED:
        errors += _validate_indexed(spec, at)
    if mode in (None, "NonIndexed"):
        given = [name for name in ("backoffLimitPerIndex", "maxFailedIndexes") if spec.get(name) is not None]
        errors += [invalid(f"{at}.{name}", spec[name], "requires indexed completion mode") for name in given]
    return errors


def _validate_indexed(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    failed = spec.get("maxFailedIndexes")
    errors = []
    if completions is None:
        errors.append(required(f"{at}.completions", f"when completion mode is {INDEXED}"))
    if parallelism > PARALLELISM_MAX:
        detail = f"must be less than or equal to {PARALLELISM_MAX} when completion mode is {INDEXED}"
        errors.append(invalid(f"{at}.parallelism", parallelism, detail))
    if completions is not None and failed is not None and failed > completions:
        errors.append(invalid(f"{at}.maxFailedIndexes", failed, "must be less than or equal to completions"))
    if failed is not None and failed > FAILED_INDEXES_MAX:
        errors.append(invalid(f"{at}.maxFailedIndexes", failed, f"must be less than or equal to {FAILED_INDEXES_MAX}"))
    if (completions or 0) <= HIGH_COMPLETIONS or spec.get("backoffLimitPerIndex") is None:
        return errors
    detail = (
        f"must be less than or equal to {{}} when completions are above {HIGH_COMPLETIONS} and used with "
        "backoff limit per index"
    )
    if failed is None:
        missing = f"must be specified when completions is above {HIGH_COMPLETIONS}"
        errors.append(required(f"{at}.maxFailedIndexes", missing))
    if parallelism > HIGH_COMPLETIONS_PARALLELISM_MAX:
        errors.append(invalid(f"{at}.parallelism", parallelism, detail.format(HIGH_COMPLETIONS_PARALLELISM_MAX)))
    if failed is not None and failed > HIGH_COMPLETIONS_FAILED_INDEXES_MAX:
        errors.append(invalid(f"{at}.maxFailedIndexes", failed, detail.format(HIGH_COMPLETIONS_FAILED_INDEXES_MAX)))
    return errors


def _valid_values_detail(values: Collection[str]) -> str:
    return f"valid values: [{' '.join(map(quote, values))}]"


def _validate_failure_policy(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    rules, pod = spec["podFailurePolicy"].get("rules") or [], (spec.get("template") or {}).get("spec") or {}
    errors = [too_many(f"{at}.rules", len(rules), RULES_MAX)] if len(rules) > RULES_MAX else []
    containers = {each.get("name", "") for kind in ("containers", "initContainers") for each in pod.get(kind) or []}
    per_index = spec.get("backoffLimitPerIndex") is not None
    for index, rule in enumerate(rules):
        errors += _validate_failure_rule(rule, f"{at}.rules[{index}]", containers, per_index=per_index)
    return errors


def _validate_failure_rule(rule: ReadOnlyObject, at: str, containers: set[str], *, per_index: bool) -> list[FieldError]:
    action, codes, conditions = rule.get("action", ""), rule.get("onExitCodes"), rule.get("onPodConditions")
    errors: list[FieldError] = []
    if not action:
        errors.append(required(f"{at}.action", _valid_values_detail(_ACTIONS)))
    elif action == "FailIndex" and not per_index:
        errors.append(invalid(f"{at}.action", action, "requires the backoffLimitPerIndex to be set"))
    else:
        errors += validate_one_of(action, f"{at}.action", _ACTIONS)
    if codes is not None:
        errors += _validate_exit_codes(codes, f"{at}.onExitCodes", containers)
    if conditions:
        errors += _validate_pod_conditions(conditions, f"{at}.onPodConditions")
    if codes is not None and conditions:
        # Upstream omits the value from both of these errors (field.OmitValueType).
        detail = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(FieldError(at, detail))
    if codes is None and not conditions:
        errors.append(FieldError(at, "specifying one of OnExitCodes and OnPodConditions is required"))
    return errors


def _validate_pod_conditions(conditions: list[ReadOnlyObject], at: str) -> list[FieldError]:
    errors = [too_many(at, len(conditions), CONDITIONS_MAX)] if len(conditions) > CONDITIONS_MAX else []
    for index, pattern in enumerate(conditions):
        here, status = f"{at}[{index}]", pattern.get("status", "")
        errors += validate_qualified_name(pattern.get("type", ""), f"{here}.type")
        if not status:
            errors.append(required(f"{here}.status", _valid_values_detail(_STATUSES)))
        else:
            errors += validate_one_of(status, f"{here}.status", _STATUSES)
    return errors


def _validate_exit_codes(codes: ReadOnlyObject, at: str, containers: set[str]) -> list[FieldError]:
    operator, name, values = codes.get("operator", ""), codes.get("containerName"), codes.get("values") or []
    errors: list[FieldError] = []
    if not operator:
        errors.append(required(f"{at}.operator", _valid_values_detail(_EXIT_CODE_OPERATORS)))
    else:
        errors += validate_one_of(operator, f"{at}.operator", _EXIT_CODE_OPERATORS)
    if name is not None and name not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{at}.containerName", name, detail))
    if not values:
        errors.append(invalid(f"{at}.values", None, "at least one value is required"))
    elif len(values) > EXIT_CODES_MAX:
        errors.append(too_many(f"{at}.values", len(values), EXIT_CODES_MAX))
    repeated = find_duplicate_indexes(values)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{at}.values[{index}]", value, "must not be 0 for the In operator"))
        if index in repeated:
            errors.append(duplicate(f"{at}.values[{index}]", value))
    if values != sorted(values):
        errors.append(invalid(f"{at}.values", values, "must be ordered"))
    return errors


def _validate_success_policy(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    policy = spec["successPolicy"]
    if spec.get("completionMode") != INDEXED:
        return [invalid(at, to_internal(policy, _SUCCESS_POLICY_SHAPE), "requires indexed completion mode")]
    rules = policy.get("rules") or []
    errors = []
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(f"{at}.rules", detail))
    if len(rules) > RULES_MAX:
        errors.append(too_many(f"{at}.rules", len(rules), RULES_MAX))
    for index, rule in enumerate(rules):
        errors += _validate_success_rule(rule, f"{at}.rules[{index}]", spec.get("completions") or 0)
    return errors


def _validate_success_rule(rule: ReadOnlyObject, at: str, completions: int) -> list[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    errors: list[FieldError] = []
    if count is None and indexes is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(required(at, detail))
    total = 0
    if indexes is not None:
        if len(indexes) > INDEXES_BYTES_MAX:
            errors.append(too_long(f"{at}.succeededIndexes", INDEXES_BYTES_MAX))
        try:
            total = count_indexes(indexes, completions)
        except ValueError as error:
            errors.append(invalid(f"{at}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}"))
    if count is None:
        return errors
    at = f"{at}.succeededCount"
    errors += validate_nonnegative_fields({"succeededCount": count}, at.rpartition(".")[0], "succeededCount")
    detail = "must be less than or equal to {} (the number of {})"
    if count > completions:
        errors.append(invalid(at, count, detail.format(completions, "specified completions")))
    if indexes is not None and count > total:
        what = "indexes in the specified succeededIndexes field"
        errors.append(invalid(at, count, detail.format(total, what)))
    return errors


def _validate_replacement_policy(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return []
    # With a pod failure policy a failed pod is replaced only after its phase is final, since the policy reads exit
    # codes.
    return validate_one_of(
        policy, at, _REPLACEMENT_POLICIES[:1] if spec.get("podFailurePolicy") is not None else _REPLACEMENT_POLICIES
    )


def _validate_restart_policy(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        return [required(at, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(at, policy, ("OnFailure", "Never"))]
    # The kubelet would restart containers in place, and the policy would never see a failed pod.
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []
