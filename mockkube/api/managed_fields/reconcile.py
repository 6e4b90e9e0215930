"""Reconcile field sets with a schema that has changed since they were written."""

# upstream 1.36: sigs.k8s.io/structured-merge-diff/v6/typed/reconcile_schema.go

from mockkube.api.managed_fields.field_set import FieldSet
from mockkube.api.managed_fields.types import ABSENT, ListType, MapType, Type


def reconcile_with_type(fields: FieldSet, expected: Type) -> FieldSet:
    """Return the set with parts of values that are atomic now replaced by the values; the same set if unchanged."""
    # hot: per manager of every written object
    if fields.reconciled_type is expected:
        return fields
    form = expected.form(ABSENT)
    changed: dict[str, FieldSet | None] = {}
    for element, child in fields.children.items():
        beneath = _child_type(form, element)
        if beneath is None:
            continue
        inner = beneath.form(ABSENT)
        atomic = isinstance(inner, MapType | ListType) and inner.atomic
        new = None if atomic else reconcile_with_type(child, beneath)
        if new is not child:
            changed[element] = new
    if not changed:
        fields.reconciled_type = expected
        return fields
    children = {element: changed.get(element, child) for element, child in fields.children.items()}
    whole = {element for element, child in children.items() if child is None}
    return FieldSet(
        fields.members | whole, {element: child for element, child in children.items() if child is not None}
    )


def _child_type(form: object, element: str) -> Type | None:
    match form:
        case MapType():
            return form.type_of(element[2:])
        case ListType():
            return form.element
        case _:
            return None
