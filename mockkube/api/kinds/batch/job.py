"""Job: strategy, defaults, validation and printer columns.

upstream 1.36: pkg/registry/batch/job/strategy.go
"""

import copy
from datetime import datetime
from typing import Any, Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS
from mockkube.api.fields import FieldError, invalid, map_entry_path, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.apps.pod_owners import (
    SELECTOR_MISMATCH,
    PodTemplateOwnerStrategy,
    TemplateValidator,
    name_warnings,
    selector_matches_template,
    template_labels,
    to_internal_template,
)
from mockkube.api.kinds.batch.job_spec import INDEXED, default_failure_policy, job_spec_warnings, validate_job_spec
from mockkube.api.kinds.batch.job_status import validate_job_status
from mockkube.api.kinds.core.pod.defaults import default_template
from mockkube.api.printers.accessors import has_condition, is_deleting, name_of, number, section, string, value_at
from mockkube.api.printers.ages import format_age, human_duration, parse_time
from mockkube.api.printers.labels import format_selector
from mockkube.api.printers.lists import container_cells
from mockkube.api.printers.table import (
    AGE_COLUMN,
    NAME_COLUMN,
    SELECTOR_COLUMN,
    WORKLOAD_COLUMNS,
    Cell,
    Printer,
    text_column,
)
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.labels import from_label_selector
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.conditions import is_condition_true
from mockkube.api.validation.formats import sort_labels
from mockkube.api.validation.internal_form import order_selector, to_internal_form
from mockkube.api.validation.labels import is_invalid_selector, validate_label_selector
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

# upstream 1.36: pkg/apis/batch/v1/defaults.go
_UNLIMITED_BACKOFF: Final = 2**31 - 1
# First version in which podReplacementPolicy has no gate.
_REPLACEMENT_POLICY_UNGATED: Final = Version(1, 37)


def default_job(job: Object, caps: Capabilities) -> None:
    """Default to one completion and a backoff limit of six."""
    spec = job.setdefault("spec", {})
    # A job with parallelism but without completions is a work queue: any success completes it. So completions is
    # defaulted only together with parallelism.
    if "parallelism" not in spec:
        spec["parallelism"] = 1
        spec.setdefault("completions", 1)
    spec.setdefault("backoffLimit", _UNLIMITED_BACKOFF if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    if caps.version >= _REPLACEMENT_POLICY_UNGATED or caps.enabled("JobPodReplacementPolicy"):
        spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    template = spec.setdefault("template", {})
    labels = template.get("metadata", {}).get("labels")
    if labels:
        # Upstream assigns the same Go map: labels that the strategy later adds to the template appear on the job, too.
        # So this must not be a copy.
        job["metadata"].setdefault("labels", labels)
    default_failure_policy(spec)
    default_template(template, caps)


LEGACY_JOB_NAME_LABEL: Final = "job-name"
JOB_NAME_LABEL: Final = "batch.kubernetes.io/job-name"
LEGACY_CONTROLLER_UID_LABEL: Final = "controller-uid"
CONTROLLER_UID_LABEL: Final = "batch.kubernetes.io/controller-uid"
_IMMUTABLE: Final = "field is immutable"
_FIELD_GATES: Final = {
    "successPolicy": "JobSuccessPolicy",
    "backoffLimitPerIndex": "JobBackoffLimitPerIndex",
    "maxFailedIndexes": "JobBackoffLimitPerIndex",
    "podReplacementPolicy": "JobPodReplacementPolicy",
}


class JobStrategy(PodTemplateOwnerStrategy):
    """Strategy of Job; generates labels and selector."""

    selectable_field_names = ("status.successful",)

    def selectable_fields(self, obj: ReadOnlyObject) -> dict[str, str]:
        """Return the number of succeeded pods."""
        return {"status.successful": str((obj.get("status") or {}).get("succeeded", 0))}

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Generate labels and selector unless manualSelector is set; drop fields of disabled gates."""
        if not obj["spec"].get("manualSelector"):
            _generate_selector(obj)
        super().prepare_for_create(obj, context)
        if not context.caps.enabled("JobManagedBy"):
            obj["spec"].pop("managedBy", None)
        _drop_disabled_fields(obj["spec"], {}, context)
        policy = obj["spec"].get("podFailurePolicy")
        if policy and not context.caps.enabled("JobBackoffLimitPerIndex"):
            policy["rules"] = [rule for rule in policy.get("rules") or [] if rule.get("action") != "FailIndex"]

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored status; drop fields of disabled gates that are not in use."""
        if context.subresource != "status":
            _drop_disabled_fields(new["spec"], old["spec"], context)
        super().prepare_for_update(new, old, context)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate generated labels, selector and every field."""
        return _validate_job(obj, None, self.template_validator(context))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation with immutable fields, or validate the status."""
        if context.subresource == "status":
            return validate_job_status(new, old, context)
        errors = _validate_job(new, old, self.template_validator(context))
        return (
            errors
            + _validate_spec(new["spec"], old["spec"], self.template_validator(context))
            + _validate_immutable_fields(new, old, context)
        )

    def canonicalize(self, obj: Object) -> None:
        """Copy the template's labels to a job without labels."""
        # Upstream defaults objects whenever it reads them from etcd, so the labels appear even if an update removed
        # them.
        labels = template_labels(obj["spec"].get("template") or {})
        if labels and not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = labels

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the name and the spec."""
        return name_warnings(obj) + job_spec_warnings(obj["spec"], "spec", context)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about a changed spec."""
        unchanged = new["metadata"].get("generation") == old["metadata"].get("generation")
        return [] if unchanged or context.subresource == "status" else job_spec_warnings(new["spec"], "spec", context)


def _drop_disabled_fields(spec: Object, before: ReadOnlyObject, context: StrategyContext) -> None:
    for name, gate in _FIELD_GATES.items():
        if name not in before and not context.caps.enabled(gate):
            spec.pop(name, None)


def _generate_selector(obj: Object) -> None:
    spec, name, uid = obj["spec"], obj["metadata"].get("name", ""), obj["metadata"].get("uid", "")
    metadata = spec.setdefault("template", {}).setdefault("metadata", {})
    labels = metadata.setdefault("labels", {})
    # Both generations of labels are set: clients still select by the unprefixed ones.
    for key, value in {
        LEGACY_JOB_NAME_LABEL: name,
        JOB_NAME_LABEL: name,
        LEGACY_CONTROLLER_UID_LABEL: uid,
        CONTROLLER_UID_LABEL: uid,
    }.items():
        labels.setdefault(key, value)
    selector = spec.get("selector") or {}
    spec["selector"] = {**selector, "matchLabels": {CONTROLLER_UID_LABEL: uid, **(selector.get("matchLabels") or {})}}


def _validate_job(obj: ReadOnlyObject, old: ReadOnlyObject | None, validator: TemplateValidator) -> list[FieldError]:
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    errors = _validate_generated_selector(obj, old)
    errors += _validate_spec(spec, old["spec"] if old else None, validator)
    # Pods of an indexed job have the hostname `job-index`, which is longest for the last index.
    if spec.get("completionMode") == INDEXED and (spec.get("completions") or 0) > 0:
        hostname = f"{name}-{spec['completions'] - 1}"
        if names.check_dns_label(hostname):
            detail = f"will not able to create pod with invalid DNS label: {hostname}"
            errors.append(invalid("metadata.name", name, detail))
    return errors


def _validate_spec(
    spec: ReadOnlyObject, before: ReadOnlyObject | None, validator: TemplateValidator
) -> list[FieldError]:
    errors = validate_job_spec(spec, before, "spec", validator)
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        errors.append(required("spec.selector"))
    else:
        lenient = before is not None and is_invalid_selector(before.get("selector"))
        errors += validate_label_selector(selector, "spec.selector", allow_invalid_values=lenient)
    if selector_matches_template(selector, template) is False:
        errors.append(invalid("spec.template.metadata.labels", template_labels(template), SELECTOR_MISMATCH))
    return errors


def _validate_generated_selector(obj: ReadOnlyObject, old: ReadOnlyObject | None) -> list[FieldError]:
    spec = obj["spec"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    name, uid = obj["metadata"].get("name", ""), obj["metadata"].get("uid", "")
    errors = [] if uid else [required("metadata.uid")]
    expected = {LEGACY_CONTROLLER_UID_LABEL: uid, LEGACY_JOB_NAME_LABEL: name}
    # Jobs created before 1.27 have only the unprefixed labels and stay valid.
    if (
        old is None
        or {JOB_NAME_LABEL, CONTROLLER_UID_LABEL} <= (template_labels(old["spec"].get("template") or {}) or {}).keys()
    ):
        expected |= {CONTROLLER_UID_LABEL: uid, JOB_NAME_LABEL: name}
    labels = template_labels(spec.get("template") or {}) or {}
    for key, value in expected.items():
        at, detail = map_entry_path("spec.template.metadata.labels", key), f"must be '{value}'"
        if key not in labels:
            errors.append(required(at, detail))
        elif labels[key] != value:
            errors.append(invalid(at, sort_labels(labels), detail))
    try:
        fit = from_label_selector(spec["selector"]).matches(expected)
    except BadSelector:
        return errors
    return (
        errors
        if fit
        else [*errors, invalid("spec.selector", order_selector(spec["selector"]), "`selector` not auto-generated")]
    )


def _validate_immutable_fields(new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    errors = _validate_completions(spec, before)
    if spec.get("selector") != before.get("selector"):
        errors.append(invalid("spec.selector", order_selector(spec.get("selector")), _IMMUTABLE))
    errors += _validate_template_update(new, old, context)
    immutable_fields = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
    changed = [name for name in immutable_fields if spec.get(name) != before.get(name)]
    return errors + [invalid(f"spec.{name}", _to_internal(name, spec.get(name)), _IMMUTABLE) for name in changed]


def _to_internal(name: str, value: Any) -> Any:
    """Return a field of the spec as error messages print it."""
    if not isinstance(value, dict):
        return value
    return _INTERNAL_FORMS[name](value)


def _to_internal_failure_policy(policy: ReadOnlyObject) -> dict[str, Any]:
    rules = [
        {
            "Action": rule.get("action", ""),
            "OnExitCodes": rule.get("onExitCodes")
            and {
                "ContainerName": rule["onExitCodes"].get("containerName"),
                "Operator": rule["onExitCodes"].get("operator", ""),
                "Values": rule["onExitCodes"].get("values"),
            },
            "OnPodConditions": [
                {"Type": each.get("type", ""), "Status": each.get("status", "")} for each in rule["onPodConditions"]
            ]
            if rule.get("onPodConditions")
            else None,
        }
        for rule in policy.get("rules") or []
    ]
    return {"Rules": rules or None}


def _to_internal_success_policy(policy: ReadOnlyObject) -> dict[str, Any]:
    rules = [
        {"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")}
        for rule in policy.get("rules") or []
    ]
    return {"Rules": rules or None}


_INTERNAL_FORMS: Final = {"podFailurePolicy": _to_internal_failure_policy, "successPolicy": _to_internal_success_policy}


def _validate_completions(spec: ReadOnlyObject, before: ReadOnlyObject) -> list[FieldError]:
    completions = spec.get("completions")
    if completions == before.get("completions"):
        return []
    if spec.get("completionMode") != INDEXED:
        return [invalid("spec.completions", completions, _IMMUTABLE)]
    # An elastic indexed job changes completions and parallelism together.
    if completions is None or completions == spec.get("parallelism"):
        return []
    return [invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")]


def _is_template_mutable(old: ReadOnlyObject) -> bool:
    """Return whether the job is suspended and no pod of it is active any more."""
    status = old.get("status") or {}
    is_idle = "startTime" not in status or is_condition_true(status.get("conditions"), "Suspended")
    return bool(old["spec"].get("suspend")) and is_idle and not status.get("active")


def _validate_template_update(new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
    # upstream 1.36: pkg/apis/batch/validation/validation.go, validatePodTemplateUpdate
    suspended, mutable = bool(old["spec"].get("suspend")), _is_template_mutable(old)
    template, before = new["spec"].get("template") or {}, old["spec"].get("template") or {}
    if context.caps.enabled("MutableSchedulingDirectivesForSuspendedJobs"):
        directives_mutable = mutable
    else:
        directives_mutable = suspended and "startTime" not in (old.get("status") or {})
    if directives_mutable:
        before = _copy_scheduling_directives(before, template)
    if suspended and mutable and context.caps.enabled("MutablePodResourcesForSuspendedJobs"):
        pod = template.get("spec") or {}
        if pod == _copy_resources(before.get("spec") or {}, pod):
            return []
        return [invalid("spec.template.spec", to_internal_form("PodSpec", pod), _IMMUTABLE)]
    return [] if template == before else [invalid("spec.template", to_internal_template(template), _IMMUTABLE)]


def _copy_scheduling_directives(before: ReadOnlyObject, template: ReadOnlyObject) -> ReadOnlyObject:
    """Return the old template with scheduling directives, labels and annotations of the new one."""
    old, new = before.get("spec") or {}, template.get("spec") or {}
    pod = {name: value for name, value in old.items() if name not in _SCHEDULING_DIRECTIVES}
    pod |= {name: new[name] for name in _SCHEDULING_DIRECTIVES if name in new and name != "affinity"}
    affinity = {name: value for name, value in (old.get("affinity") or {}).items() if name != "nodeAffinity"}
    if "nodeAffinity" in (new.get("affinity") or {}):
        affinity["nodeAffinity"] = new["affinity"]["nodeAffinity"]
    if affinity or "affinity" in new:
        pod["affinity"] = affinity
    metadata_fields = ("labels", "annotations")
    metadata = {name: value for name, value in (before.get("metadata") or {}).items() if name not in metadata_fields}
    metadata |= {
        name: template["metadata"][name] for name in metadata_fields if name in (template.get("metadata") or {})
    }
    return {**before, "metadata": metadata, "spec": pod}


_SCHEDULING_DIRECTIVES: Final = ("affinity", "nodeSelector", "tolerations", "schedulingGates")


def _copy_resources(before: ReadOnlyObject, pod: ReadOnlyObject) -> ReadOnlyObject:
    """Return the old pod spec with the new resources of containers of the same name."""
    result = copy.deepcopy(dict(before))
    for kind in ("containers", "initContainers"):
        old, new = result.get(kind) or [], pod.get(kind) or []
        if len(old) != len(new):
            continue
        for container, other in zip(old, new, strict=True):
            if container.get("name") == other.get("name"):
                container["resources"] = other.get("resources", {})
    return result


def job_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Job."""
    return [
        name_of(obj),
        _format_status(obj),
        _format_completions(obj),
        _format_duration(obj, now),
        format_age(obj, now),
        *container_cells(section(obj, "spec", "template")),
        format_selector(section(obj, "spec", "selector")),
    ]


def _format_status(obj: ReadOnlyObject) -> str:
    """Return the most important condition of a job."""
    if has_condition(obj, "Complete"):
        return "Complete"
    if has_condition(obj, "Failed"):
        return "Failed"
    # A deletion ranks above conditions that can still change, but below the terminal ones.
    if is_deleting(obj):
        return "Terminating"
    transient = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((kind for kind in transient if has_condition(obj, kind)), "Running")


def _format_completions(obj: ReadOnlyObject) -> str:
    succeeded = number(obj, "status", "succeeded")
    if value_at(obj, "spec", "completions") is not None:
        return f"{succeeded}/{number(obj, 'spec', 'completions')}"
    parallelism = number(obj, "spec", "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _format_duration(obj: ReadOnlyObject, now: datetime) -> str:
    started = parse_time(string(obj, "status", "startTime"))
    if started is None:
        return ""
    ended = parse_time(string(obj, "status", "completionTime"))
    return human_duration((ended or now) - started)


JOB = Printer(
    (
        NAME_COLUMN,
        text_column("Status", "Status of the job."),
        text_column("Completions", "Succeeded pods, of the required ones."),
        text_column("Duration", "Time from start to completion, or until now."),
        AGE_COLUMN,
        *WORKLOAD_COLUMNS,
        SELECTOR_COLUMN,
    ),
    job_cells,
)

KIND: Final = Kind(
    "batch",
    "Job",
    "jobs",
    categories=("all",),
    subresources=(STATUS,),
    pod_spec=("spec", "template", "spec"),
    strategy=lambda dependencies: JobStrategy(dependencies.extensions),
    defaults={"v1": default_job},
    printer=JOB,
)
