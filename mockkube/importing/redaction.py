"""Redaction of secrets: the same keys, with placeholders that repeat at every import and pass validation."""

import hashlib
from base64 import b64encode
from typing import Any, Final

from mockkube.api.json_objects import Object, ReadOnlyObject

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
REDACTED: Final = "mockkube.dev/redacted"
_BOOTSTRAP_TOKEN: Final = "bootstrap.kubernetes.io/token"  # noqa: S105 - a type
# Keys whose values the API server or a controller parses.
_PARSED_VALUES: Final = {".dockerconfigjson": '{"auths":{}}', ".dockercfg": "{}"}
_DIGEST_LENGTH: Final = 12


def redact_secret(secret: ReadOnlyObject) -> Object:
    """Return a Secret without its values."""
    metadata = dict(secret["metadata"])
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED}
    metadata["annotations"] = {**annotations, REDACTED: "true"}
    redacted: Object = {**secret, "metadata": metadata}
    name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    if data := secret.get("data"):
        redacted["data"] = {key: _redact_value(secret, name, key, value) for key, value in data.items()}
    # Only manifests have it; the API server moves it to `data`.
    if texts := redacted.pop("stringData", None):
        redacted["data"] = redacted.get("data", {}) | {key: _encode(_make_placeholder(name, key)) for key in texts}
    return redacted


def _redact_value(secret: ReadOnlyObject, name: str, key: str, value: Any) -> Any:
    # A bootstrap token that seems to have expired would be deleted by its controller; only its secret is one.
    if secret.get("type") == _BOOTSTRAP_TOKEN and key != "token-secret":
        return value
    return _encode(_PARSED_VALUES.get(key) or _make_placeholder(name, key))


def _make_placeholder(name: str, key: str) -> str:
    # From the names alone: a digest of a short value could be guessed.
    return f"redacted-{hashlib.sha256(f'{name}/{key}'.encode()).hexdigest()[:_DIGEST_LENGTH]}"


def _encode(text: str) -> str:
    return b64encode(text.encode()).decode()
