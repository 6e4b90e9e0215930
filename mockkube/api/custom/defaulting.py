"""Defaults of a structural schema, filled into an object."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go

from copy import deepcopy
from typing import Any

from mockkube.api.custom.structural import Structural


def fill_in(value: Any, schema: Structural) -> None:
    """Give every field that is missing, or is a null it may not be, the default its schema has for it."""
    match value:
        case dict():
            for name, each in schema.properties.items():
                if each.default is not None and (name not in value or each.refuses_null(value[name])):
                    value[name] = deepcopy(each.default)
            for name, item in value.items():
                child = schema.child(name)
                if child is None:
                    continue
                if name not in schema.properties and child.refuses_null(item):
                    item = value[name] = deepcopy(child.default)
                fill_in(item, child)
        case list() if schema.items is not None:
            for index, item in enumerate(value):
                if schema.items.refuses_null(item):
                    item = value[index] = deepcopy(schema.items.default)
                fill_in(item, schema.items)
