"""ControllerRevision: a state to go back to, which never changes."""

from mockkube.api.fields import FieldError, required
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import ReadOnlyObject
from mockkube.api.validation.formats import immutable
from mockkube.api.validation.numbers import nonnegative


class ControllerRevisionStrategy(Strategy):
    """Numbered data."""

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Ask for data: a JSON object."""
        errors, data = nonnegative(obj.get("revision"), "revision"), obj.get("data")
        if data is None:
            errors.append(required("data", "data is mandatory"))
        elif not isinstance(data, dict):
            errors.append(required("data", "data must be a valid JSON object"))
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Refuse other data."""
        return nonnegative(new.get("revision"), "revision") + immutable(new, old, "data")
