"""Secret: strategy, defaults, validation and printer columns."""

import base64
import json
from base64 import b64encode
from datetime import datetime
from typing import Final

from mockkube.api.decoding import go_json_errors
from mockkube.api.fields import FieldError, invalid, map_entry_path, required, too_long
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.core.config_map import DATA_BYTES_MAX, decoded_length, validate_data_key, validate_immutable
from mockkube.api.printers.accessors import name_of, section, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_immutable_field
from mockkube.features.capabilities import Capabilities


def default_secret(secret: Object, caps: Capabilities) -> None:
    """Default to type Opaque, and move `stringData` to `data`."""
    secret.setdefault("type", "Opaque")
    # upstream 1.36: pkg/apis/core/v1/conversion.go
    for name, text in secret.pop("stringData", {}).items():
        # stringData is write-only and wins over data with the same key.
        secret.setdefault("data", {})[name] = b64encode(text.encode()).decode()


SERVICE_ACCOUNT_NAME_ANNOTATION: Final = "kubernetes.io/service-account.name"
TLS_TYPE: Final = "kubernetes.io/tls"
_DOCKER_CONFIG_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


class SecretStrategy(Strategy):
    """Strategy of Secret; its type is immutable."""

    selectable_field_names = ("type",)

    def selectable_fields(self, obj: ReadOnlyObject) -> dict[str, str]:
        """Return the type."""
        return {"type": obj.get("type", "")}

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored type if the update has none."""
        if not new.get("type") and old.get("type"):
            new["type"] = old["type"]

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate keys, total size and the keys that the type requires."""
        data = obj.get("data") or {}
        errors: list[FieldError] = []
        for key in data:
            errors += validate_data_key(key, "data")
        if sum(map(decoded_length, data.values())) > DATA_BYTES_MAX:
            errors.append(too_long("data", DATA_BYTES_MAX))
        return errors + _validate_type(obj, data)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Reject another type and changes of an immutable secret; validate as on creation."""
        return (
            validate_immutable_field(new, old, "type")
            + validate_immutable(new, old, "data")
            + self.validate(new, context)
        )

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about a TLS certificate and key that do not match."""
        if obj.get("type") != TLS_TYPE:
            return []
        from mockkube.api.kinds.core.tls import (
            find_key_pair_error,  # loads cryptography: 6 MB that most servers never need
        )

        data = obj.get("data") or {}
        message = find_key_pair_error(_decode_value(data, "tls.crt"), _decode_value(data, "tls.key"))
        return [message] if message else []

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn as on creation."""
        return self.warnings_on_create(new, context)


def _validate_type(obj: ReadOnlyObject, data: ReadOnlyObject) -> list[FieldError]:
    match obj.get("type", ""):
        case "kubernetes.io/service-account-token":
            if not (obj["metadata"].get("annotations") or {}).get(SERVICE_ACCOUNT_NAME_ANNOTATION):
                return [required(map_entry_path("metadata.annotations", SERVICE_ACCOUNT_NAME_ANNOTATION))]
        case "kubernetes.io/dockercfg" | "kubernetes.io/dockerconfigjson" as kind:
            return _validate_json_object(data, _DOCKER_CONFIG_KEYS[kind])
        case "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                return [required("data[username]"), required("data[password]")]
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                return [required("data[ssh-privatekey]")]
        case "kubernetes.io/tls":
            return [required(map_entry_path("data", key)) for key in ("tls.crt", "tls.key") if key not in data]
    return []


def _validate_json_object(data: ReadOnlyObject, key: str) -> list[FieldError]:
    if key not in data:
        return [required(map_entry_path("data", key))]
    message = find_json_object_error(_decode_value(data, key))
    # Errors end up in logs, so the content must not be printed.
    return [invalid(map_entry_path("data", key), "<secret contents redacted>", message)] if message else []


def find_json_object_error(text: bytes) -> str | None:
    """Return Go's error for a text that is no JSON object, or None."""
    try:
        value = json.loads(text)
    except ValueError:
        return go_json_errors.find_syntax_error(text)
    if value is None or isinstance(value, dict):
        return None
    kind = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def _decode_value(data: ReadOnlyObject, key: str) -> bytes:
    return base64.b64decode(data.get(key) or "")


def secret_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Secret: the number of entries, never their content."""
    return [name_of(obj), string(obj, "type"), len(section(obj, "data")), format_age(obj, now)]


SECRET = Printer(
    (NAME_COLUMN, text_column("Type", "Type of the secret."), text_column("Data", "Number of entries."), AGE_COLUMN),
    secret_cells,
)

KIND: Final = Kind(
    "",
    "Secret",
    "secrets",
    strategy=lambda _: SecretStrategy(),
    defaults={"v1": default_secret},
    printer=SECRET,
)
