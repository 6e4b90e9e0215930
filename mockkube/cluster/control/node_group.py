"""Node groups: validation and printer columns. They grow and shrink by `mockkube/nodegroups`."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from mockkube.api.fields import FieldError, duplicate, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.names import check_dns_label
from mockkube.api.printers.ages import format_time_since
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, integer_column, text_column
from mockkube.api.quantities.quantity import parse
from mockkube.api.strategy import StatusStrategy, StrategyContext

SIZE_MAX: Final = 10_000
_SECONDS_MAX: Final = 30 * 24 * 3600.0
_EFFECTS: Final = ("NoExecute", "NoSchedule", "PreferNoSchedule")


class NodeGroupStrategy(StatusStrategy):
    """Strategy of node groups; every field may change at any time."""

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec."""
        spec = obj["spec"]
        return [
            *_validate_sizes(spec),
            *_validate_instance_types(spec.get("instanceTypes") or ()),
            *_validate_taints(spec.get("taints") or ()),
            *_validate_zones(spec.get("zones") or ()),
            *_validate_quantities(spec.get("limits") or {}, "spec.limits"),
            *_validate_seconds(spec, "spec", ("provisionSeconds",)),
            *_validate_scale_down(spec.get("scaleDown") or {}),
        ]

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec if it changes."""
        return [] if new["spec"] == old["spec"] else self.validate(new, context)


def _validate_sizes(spec: ReadOnlyObject) -> Iterator[FieldError]:
    least, most = spec.get("minSize", 0), spec.get("maxSize")
    if most is None:
        yield required("spec.maxSize", "give the largest number of nodes")
    elif not 0 <= most <= SIZE_MAX:
        yield invalid("spec.maxSize", most, f"must be from 0 to {SIZE_MAX}")
    if least < 0:
        yield invalid("spec.minSize", least, "must be 0 or more")
    elif most is not None and least > most:
        yield invalid("spec.minSize", least, "must not be greater than maxSize")


def _validate_instance_types(types: Any) -> Iterator[FieldError]:
    if not types:
        yield required("spec.instanceTypes", "give at least one type with its capacity")
    names = set()
    for index, one in enumerate(types):
        at = f"spec.instanceTypes[{index}]"
        name = one.get("name", "")
        if not name:
            yield required(f"{at}.name", "")
        elif name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        capacity = one.get("capacity") or {}
        for resource in ("cpu", "memory"):
            if resource not in capacity:
                yield required(f"{at}.capacity.{resource}", "")
        yield from _validate_quantities(capacity, f"{at}.capacity")
        if (price := one.get("pricePerHour")) is not None and price < 0:
            yield invalid(f"{at}.pricePerHour", price, "must be 0 or more")


def _validate_quantities(amounts: ReadOnlyObject, at: str) -> Iterator[FieldError]:
    for name, text in amounts.items():
        try:
            if parse(text).sign < 0:
                yield invalid(f"{at}.{name}", text, "must be 0 or more")
        except ValueError as error:
            yield invalid(f"{at}.{name}", text, str(error))


def _validate_taints(taints: Any) -> Iterator[FieldError]:
    for index, taint in enumerate(taints):
        at = f"spec.taints[{index}]"
        if not taint.get("key"):
            yield required(f"{at}.key", "")
        if taint.get("effect") not in _EFFECTS:
            yield not_supported(f"{at}.effect", taint.get("effect", ""), _EFFECTS)


def _validate_zones(zones: Any) -> Iterator[FieldError]:
    for index, zone in enumerate(zones):
        if zone in zones[:index]:
            yield duplicate(f"spec.zones[{index}]", zone)
        for text in check_dns_label(zone):
            yield invalid(f"spec.zones[{index}]", zone, text)


def _validate_seconds(obj: ReadOnlyObject, at: str, names: tuple[str, ...]) -> Iterator[FieldError]:
    for name in names:
        if not 0 <= obj.get(name, 0) <= _SECONDS_MAX:
            yield invalid(f"{at}.{name}", obj[name], f"must be from 0 to {_SECONDS_MAX:.0f}")


def _validate_scale_down(rules: ReadOnlyObject) -> Iterator[FieldError]:
    yield from _validate_seconds(rules, "spec.scaleDown", ("unneededSeconds", "delayAfterAddSeconds"))
    threshold = rules.get("utilizationThreshold", 0)
    if not 0 <= threshold <= 1:
        yield invalid("spec.scaleDown.utilizationThreshold", threshold, "must be from 0 to 1")


def _make_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    return [
        obj["metadata"].get("name", ""),
        status.get("size", 0),
        status.get("ready", 0),
        status.get("coming", 0),
        spec.get("minSize", 0),
        spec.get("maxSize", 0),
        status.get("pricePerHour", ""),
        format_time_since(obj["metadata"].get("creationTimestamp", ""), now),
    ]


PRINTER: Final = Printer(
    (
        NAME_COLUMN,
        integer_column("Size", "Number of nodes, with those that come."),
        integer_column("Ready", "Number of ready nodes."),
        integer_column("Coming", "Number of nodes that have not registered."),
        integer_column("Min", "Smallest number of nodes."),
        integer_column("Max", "Largest number of nodes."),
        text_column("Price/Hour", "Price of the nodes per hour."),
        AGE_COLUMN,
    ),
    _make_cells,
)
