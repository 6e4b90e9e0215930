"""Formats a label selector as Go's `%v`, for upstream's messages."""

from mockkube.api.json_objects import ReadOnlyObject


def format_selector(selector: ReadOnlyObject | None) -> str:
    """Return a label selector as Go prints it.

    upstream 1.36: apimachinery/pkg/apis/meta/v1/generated.pb.go, LabelSelector.String
    """
    if selector is None:
        return "nil"
    # As the generated method does: keys are sorted, and each entry is followed by a comma, the last one too.
    labels = "".join(f"{name}: {value}," for name, value in sorted(selector.get("matchLabels", {}).items()))
    expressions = "".join(f"{_format_requirement(one)}," for one in selector.get("matchExpressions", ()))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _format_requirement(one: ReadOnlyObject) -> str:
    values = " ".join(one.get("values", ()))
    return f"LabelSelectorRequirement{{Key:{one['key']},Operator:{one['operator']},Values:[{values}],}}"
