"""Node groups: validation and printer columns. They grow and shrink by `mockkube/nodegroups`."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from mockkube.api.fields import FieldError, duplicate, forbidden, invalid, not_supported, required, too_many
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.names import check_dns_label, check_label_value
from mockkube.api.printers.ages import format_time_since
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, integer_column, text_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation.labels import validate_label_name, validate_labels

SIZE_MAX: Final = 10_000
INSTANCE_TYPES_MAX: Final = 1000
ZONES_MAX: Final = 100
_BUDGETS_MAX: Final = 50
_POLICIES: Final = ("WhenEmpty", "WhenEmptyOrUnderutilized")
_REASONS: Final = ("Empty", "Underutilized", "Drifted")
_AFTER: Final = re.compile(r"([0-9]{1,6}[smh])+|Never")
_NODES: Final = re.compile(r"(100|[0-9]{1,2})%|[0-9]{1,9}")
_DURATION: Final = re.compile(r"(([0-9]{1,6}[hm])|([0-9]{1,6}h[0-9]{1,6}m))(0s)?")
_SECONDS_MAX: Final = 30 * 24 * 3600.0


class NodeGroupStrategy(StatusStrategy):
    """Strategy of node groups; every field may change at any time."""

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec."""
        # A cluster without node groups starts faster without the validation of nodes.
        from mockkube.api.kinds.core.node_validation import validate_taints

        spec = obj["spec"]
        return [
            *_validate_name(obj["metadata"].get("name", "")),
            *_validate_sizes(spec),
            *_validate_instance_types(spec.get("instanceTypes") or ()),
            *validate_labels(spec.get("labels") or {}, "spec.labels"),
            *validate_taints(spec.get("taints") or (), "spec.taints"),
            *_validate_zones(spec.get("zones") or ()),
            *_validate_quantities(spec.get("limits") or {}, "spec.limits"),
            *_validate_seconds(spec, "spec", ("provisionSeconds",)),
            *_validate_scale_down(spec.get("scaleDown") or {}),
            *_validate_disruption(spec),
        ]

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the spec if it changes."""
        return [] if new["spec"] == old["spec"] else self.validate(new, context)


def _validate_name(name: str) -> Iterator[FieldError]:
    """Require that names of the nodes, the group's with a number, are values of labels."""
    for text in check_label_value(f"{name}-{SIZE_MAX}"):
        yield invalid("metadata.name", name, f"with the number of a node {text}")


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
    if len(types) > INSTANCE_TYPES_MAX:
        yield too_many("spec.instanceTypes", len(types), INSTANCE_TYPES_MAX)
        return
    names = set()
    for index, one in enumerate(types):
        at = f"spec.instanceTypes[{index}]"
        name = one.get("name", "")
        if not name:
            yield required(f"{at}.name", "")
        elif name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        for text in check_label_value(name):
            yield invalid(f"{at}.name", name, text)
        capacity = one.get("capacity") or {}
        for resource in ("cpu", "memory"):
            if resource not in capacity:
                yield required(f"{at}.capacity.{resource}", "")
        yield from _validate_quantities(capacity, f"{at}.capacity")
        if (price := one.get("pricePerHour")) is not None and price < 0:
            yield invalid(f"{at}.pricePerHour", price, "must be 0 or more")


def _validate_quantities(amounts: ReadOnlyObject, at: str) -> Iterator[FieldError]:
    from mockkube.api.kinds.core.pod.containers.resources import validate_resource_quantity

    for name, text in amounts.items():
        yield from validate_label_name(name, at)
        try:
            yield from validate_resource_quantity(name, text, f"{at}.{name}")
        except ValueError as error:
            yield invalid(f"{at}.{name}", text, str(error))


def _validate_zones(zones: Any) -> Iterator[FieldError]:
    if len(zones) > ZONES_MAX:
        yield too_many("spec.zones", len(zones), ZONES_MAX)
        return
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


def _validate_disruption(spec: ReadOnlyObject) -> Iterator[FieldError]:
    disruption, at = spec.get("disruption"), "spec.disruption"
    if disruption is None:
        return
    if spec.get("scaleDown") is not None:
        yield forbidden("spec.scaleDown", "may not be set together with disruption, whose consolidation replaces it")
    policy = disruption.get("consolidationPolicy")
    if policy is not None and policy not in _POLICIES:
        yield not_supported(f"{at}.consolidationPolicy", policy, _POLICIES)
    after = disruption.get("consolidateAfter")
    if after is not None and not _AFTER.fullmatch(after):
        yield invalid(f"{at}.consolidateAfter", after, "must be Never, or hours, minutes and seconds like 30s or 1h30m")
    budgets = disruption.get("budgets") or ()
    if len(budgets) > _BUDGETS_MAX:
        yield too_many(f"{at}.budgets", len(budgets), _BUDGETS_MAX)
        return
    for index, budget in enumerate(budgets):
        yield from _validate_budget(budget, f"{at}.budgets[{index}]")


def _validate_budget(budget: ReadOnlyObject, at: str) -> Iterator[FieldError]:
    # A cluster without node groups starts faster without the parser of schedules.
    from mockkube.api.kinds.batch.cron_schedule import find_schedule_error

    nodes = budget.get("nodes")
    if nodes is not None and not _NODES.fullmatch(nodes):
        yield invalid(f"{at}.nodes", nodes, "must be a number of nodes, or a percentage from 0% to 100%")
    for index, reason in enumerate(budget.get("reasons") or ()):
        if reason not in _REASONS:
            yield not_supported(f"{at}.reasons[{index}]", reason, _REASONS)
    schedule, duration = budget.get("schedule"), budget.get("duration")
    if schedule is not None and duration is None:
        yield required(f"{at}.duration", "give the time for which the schedule's budget applies, like 8h")
    if duration is not None and schedule is None:
        yield required(f"{at}.schedule", "give the times at which the budget begins, like 0 9 * * mon-fri")
    if schedule is not None and "TZ=" in schedule:
        yield invalid(f"{at}.schedule", schedule, "time zones are not supported: times are in UTC")
    elif schedule is not None and (text := find_schedule_error(schedule)) is not None:
        yield invalid(f"{at}.schedule", schedule, text)
    if duration is not None and not _DURATION.fullmatch(duration):
        yield invalid(f"{at}.duration", duration, "must be hours and minutes, like 8h, 30m or 1h30m")


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
