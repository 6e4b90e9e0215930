"""Evaluation of device selectors.

upstream 1.36: dynamic-resource-allocation/cel/compile.go (DeviceMatches)
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from mockkube_cel.environment import Compiled
from mockkube_cel.values import CelError, OpenMap, type_of

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.matching import semver
from mockkube.matching.cel.devices import device_environment
from mockkube.matching.cel.libraries import quantities
from mockkube.matching.cel.tolerations import COST_MAX, PROGRAMS_MAX


@lru_cache(PROGRAMS_MAX)
def compile_device_selector(expression: str, *, shared: bool, lists: bool) -> Compiled:
    """Return the compiled selector; `shared` and `lists` tell which gates of devices are on."""
    return device_environment(shared=shared, lists=lists).compile(expression)


def device_matches(compiled: Compiled, driver: str, device: ReadOnlyObject, *, lists: bool) -> bool | str:
    """Return whether a device of a driver's slice matches, or the error of the evaluation."""
    assert compiled.program is not None, "only what compiles is evaluated"
    try:
        variables = {
            "driver": driver,
            "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
            "attributes": _group_by_domain(
                driver, device.get("attributes") or {}, lambda one: _attribute_value(one, lists=lists)
            ),
            "capacity": _group_by_domain(driver, device.get("capacity") or {}, _parse_capacity),
        }
    except ValueError as error:
        return str(error)
    value = compiled.program.evaluate({"device": variables}, COST_MAX).value
    if type(value) is CelError:
        return value.message
    return value if isinstance(value, bool) else _not_boolean_error(value)


def _group_by_domain(
    driver: str, named: Mapping[str, ReadOnlyObject], read: Callable[[ReadOnlyObject], Any]
) -> OpenMap:
    """Group attributes by domain; a name without a domain belongs to the driver's."""
    # As upstream, an unknown domain has an empty map: `device.attributes["x"]` never fails, only a missing name in it.
    domains = OpenMap()
    for name, one in named.items():
        domain, slash, identifier = name.partition("/")
        try:
            value = read(one)
        except ValueError as error:
            raise ValueError(f"attribute {name}: {error}") from None
        domains.setdefault(domain if slash else driver, {})[identifier if slash else name] = value
    return domains


def _attribute_value(attribute: ReadOnlyObject, *, lists: bool) -> Any:
    for kind in ("ints", "bools", "strings") if lists else ():
        if kind in attribute:
            return list(attribute[kind])
    # Lists are looked up first: only a cluster with the gate on decodes them at all.
    if lists and "versions" in attribute:
        return [_parse_version(text) for text in attribute["versions"]]
    for kind in ("int", "bool", "string"):
        if kind in attribute:
            return attribute[kind]
    if "version" in attribute:
        return _parse_version(attribute["version"])
    raise ValueError("unsupported attribute value")


def _parse_version(text: str) -> semver.SemanticVersion:
    try:
        return semver.parse(text)
    except semver.SemverError as error:
        raise ValueError(f"parse semantic version: {error}") from None


def _parse_capacity(capacity: ReadOnlyObject) -> Any:
    return quantities.parse(str(capacity["value"]))


def _not_boolean_error(value: Any) -> str:
    name = type_of(value).name
    match value:
        case str():
            why = "unsupported native conversion from string to 'bool'"
        case int():
            why = "unsupported type conversion from 'int' to bool"
        case semver.SemanticVersion():
            why = "type conversion error from 'Semver' to 'bool'"
        case _:
            why = f"type conversion error from {name} to 'bool'"
    return f"CEL result of type {name} could not be converted to bool: {why}"
