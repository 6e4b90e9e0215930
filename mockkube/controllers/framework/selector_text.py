"""A label selector as Go prints one, for texts that upstream makes with `%v`."""

from mockkube.api.types import ReadOnlyObject


def selector_text(selector: ReadOnlyObject | None) -> str:
    """Return the text of a selector.

    upstream 1.36: apimachinery/pkg/apis/meta/v1/generated.pb.go, LabelSelector.String
    """
    if selector is None:
        return "nil"
    labels = "".join(f"{name}: {value}," for name, value in sorted(selector.get("matchLabels", {}).items()))
    expressions = "".join(f"{_requirement(one)}," for one in selector.get("matchExpressions", ()))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _requirement(one: ReadOnlyObject) -> str:
    values = " ".join(one.get("values", ()))
    return f"LabelSelectorRequirement{{Key:{one['key']},Operator:{one['operator']},Values:[{values}],}}"
