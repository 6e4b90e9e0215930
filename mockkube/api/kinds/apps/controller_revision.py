"""ControllerRevision: strategy and printer columns.

upstream 1.36: pkg/apis/apps/validation/validation.go
"""

from datetime import datetime
from typing import Final

from mockkube.api.fields import FieldError, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, number, sections, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_immutable_field
from mockkube.api.validation.numbers import validate_nonnegative


class ControllerRevisionStrategy(Strategy):
    """Strategy of ControllerRevision; its data is immutable."""

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Require data: a JSON object."""
        errors, data = validate_nonnegative(obj.get("revision"), "revision"), obj.get("data")
        if data is None:
            errors.append(required("data", "data is mandatory"))
        elif not isinstance(data, dict):
            errors.append(required("data", "data must be a valid JSON object"))
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the revision and reject changed data."""
        return validate_nonnegative(new.get("revision"), "revision") + validate_immutable_field(new, old, "data")


def controller_revision_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ControllerRevision."""
    return [name_of(obj), _format_controller(obj), number(obj, "revision"), format_age(obj, now)]


def _format_controller(obj: ReadOnlyObject) -> str:
    """Return `kind.group/name` of the controller."""
    owners = sections(obj, "metadata", "ownerReferences")
    owner = next((owner for owner in owners if owner.get("controller") is True), None)
    if owner is None:
        return NONE
    group, slash, _ = string(owner, "apiVersion").partition("/")
    # kubectl prints owners as it accepts them on the command line: lower case, with the group.
    kind = f"{string(owner, 'kind')}.{group}" if slash and group else string(owner, "kind")
    return f"{kind.lower()}/{string(owner, 'name')}" if kind else string(owner, "name")


CONTROLLER_REVISION = Printer(
    (
        NAME_COLUMN,
        text_column("Controller", "The controller of the revision."),
        text_column("Revision", "Revision number; later revisions have higher ones."),
        AGE_COLUMN,
    ),
    controller_revision_cells,
)

KIND: Final = Kind(
    "apps",
    "ControllerRevision",
    "controllerrevisions",
    strategy=lambda _: ControllerRevisionStrategy(),
    printer=CONTROLLER_REVISION,
)
