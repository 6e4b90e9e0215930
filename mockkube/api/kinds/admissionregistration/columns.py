"""Printer columns of webhook configurations and admission policies."""

from collections.abc import Callable
from datetime import datetime

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import elements, name_of, section, sections, string, value_at
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, UNSET, Cell, Printer, integer_column, text_column


def webhook_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a webhook configuration."""
    return [name_of(obj), len(elements(obj, "webhooks")), format_age(obj, now)]


def policy_cells(rules: str) -> Callable[[ReadOnlyObject, datetime], list[Cell]]:
    """Return a function that renders the table cells of a policy; `rules` is the spec field that is counted."""

    def cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
        return [name_of(obj), len(elements(obj, "spec", rules)), _format_param_kind(obj), format_age(obj, now)]

    return cells


def _format_param_kind(obj: ReadOnlyObject) -> str:
    if value_at(obj, "spec", "paramKind") is None:
        return UNSET
    kind = section(obj, "spec", "paramKind")
    return f"{string(kind, 'apiVersion')}/{string(kind, 'kind')}"


def policy_binding_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a policy binding."""
    return [name_of(obj), string(obj, "spec", "policyName"), _format_param_ref(obj), format_age(obj, now)]


def _format_param_ref(obj: ReadOnlyObject) -> str:
    """Return `namespace/name` of the parameter, a star for an omitted namespace, or the selector."""
    reference = section(obj, "spec", "paramRef")
    if name := string(reference, "name"):
        return f"{string(reference, 'namespace') or '*'}/{name}"
    if reference.get("selector") is not None:
        return _format_selector_struct(section(reference, "selector"))
    return UNSET


def _format_selector_struct(selector: ReadOnlyObject) -> str:
    """Return the selector as Go's `%v` prints the LabelSelector struct."""
    # upstream 1.36: apimachinery/pkg/apis/meta/v1/generated.pb.go, LabelSelector.String
    pairs = "".join(f"{key}: {value}," for key, value in sorted(section(selector, "matchLabels").items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{string(item, 'key')},Operator:{string(item, 'operator')},"
        f"Values:[{' '.join(str(value) for value in elements(item, 'values'))}],}},"
        for item in sections(selector, "matchExpressions")
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )


PARAM_KIND_COLUMN = text_column("ParamKind", "The kind of the parameters.")

WEBHOOK_CONFIGURATION = Printer(
    (NAME_COLUMN, integer_column("Webhooks", "Number of webhooks."), AGE_COLUMN), webhook_cells
)

POLICY_BINDING = Printer(
    (
        NAME_COLUMN,
        text_column("PolicyName", "The bound policy."),
        text_column("ParamRef", "The parameters of the policy."),
        AGE_COLUMN,
    ),
    policy_binding_cells,
)
