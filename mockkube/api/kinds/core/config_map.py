"""ConfigMap: strategy, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, map_entry_path, too_long
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, section
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_format

DATA_BYTES_MAX: Final = 1024 * 1024
IMMUTABLE_DETAIL: Final = "field is immutable when `immutable` is set"


class ConfigMapStrategy(Strategy):
    """Strategy of ConfigMap."""

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate keys and total size."""
        data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
        errors: list[FieldError] = []
        for key in data:
            errors += validate_data_key(key, "data")
            if key in binary:
                errors.append(invalid(map_entry_path("data", key), key, "duplicate of key present in binaryData"))
        for key in binary:
            errors += validate_data_key(key, "binaryData")
        # The limit is in bytes; ASCII texts are counted without encoding a copy of them.
        size = sum(len(text) if text.isascii() else len(text.encode()) for text in data.values())
        if size + sum(map(decoded_length, binary.values())) > DATA_BYTES_MAX:
            errors.append(too_long("", DATA_BYTES_MAX))
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Reject changes of an immutable object, and validate as on creation."""
        return validate_immutable(new, old, "data", "binaryData") + self.validate(new, context)


def validate_immutable(new: ReadOnlyObject, old: ReadOnlyObject, *names: str) -> list[FieldError]:
    """Reject changes to an object that has been declared immutable."""
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden("immutable", IMMUTABLE_DETAIL)]
    return errors + [forbidden(name, IMMUTABLE_DETAIL) for name in names if new.get(name) != old.get(name)]


def validate_data_key(key: str, at: str) -> list[FieldError]:
    """Validate a key of a ConfigMap or Secret, which must be usable as a file name."""
    # Identifiers are valid keys: this shortcut spares most keys the regular expression.
    plain = key.isascii() and key.isidentifier() and len(key) < names.SUBDOMAIN_LENGTH_MAX
    return [] if plain else validate_format(key, map_entry_path(at, key), names.check_config_map_key)


def decoded_length(base64: str | None) -> int:
    """Return the number of bytes that a base64 text decodes to."""
    return 0 if base64 is None else len(base64) // 4 * 3 - base64.count("=", -2)


def config_map_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ConfigMap."""
    return [name_of(obj), len(section(obj, "data")) + len(section(obj, "binaryData")), format_age(obj, now)]


CONFIG_MAP = Printer((NAME_COLUMN, text_column("Data", "Number of entries."), AGE_COLUMN), config_map_cells)

KIND: Final = Kind(
    "",
    "ConfigMap",
    "configmaps",
    short_names=("cm",),
    strategy=lambda _: ConfigMapStrategy(),
    printer=CONFIG_MAP,
)
