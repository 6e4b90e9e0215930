"""Render a label selector as a LabelSelector object."""

# upstream 1.36: apimachinery/pkg/apis/meta/v1/helpers.go, ParseToLabelSelector
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.api.selectors.labels import LabelSelector, SelectorOperator

_OPERATORS: Final = {
    SelectorOperator.IN: "In",
    SelectorOperator.NOT_IN: "NotIn",
    SelectorOperator.NOT_EQUALS: "NotIn",
    SelectorOperator.EXISTS: "Exists",
    SelectorOperator.NOT_EXISTS: "DoesNotExist",
}


def to_label_selector(selector: LabelSelector) -> Object:
    """Return the LabelSelector with the requirements; those by order have no equivalent and are left out."""
    labels, expressions = {}, []
    for one in selector.requirements:
        if one.operator in (SelectorOperator.EQUALS, SelectorOperator.DOUBLE_EQUALS):
            labels[one.key] = one.values[0]
        elif one.operator in _OPERATORS:
            values = {"values": list(one.values)} if one.values else {}
            expressions.append({"key": one.key, "operator": _OPERATORS[one.operator], **values})
    return {
        **({"matchLabels": labels} if labels else {}),
        **({"matchExpressions": expressions} if expressions else {}),
    }
