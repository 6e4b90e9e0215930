"""Continue tokens: where the next page of a list begins."""

# upstream 1.36: apiserver/pkg/storage/continue.go
import base64
import posixpath
import re
from typing import Any, Final, NoReturn

import orjson

from mockkube.api.decoding import go_json_errors
from mockkube.api.decoding.decoding_errors import describe_unmarshal_error
from mockkube.api.errors import BadRequest
from mockkube.lazy_dataclasses import dataclass

# Revision of a token for the remainder of a list at the newest revision, after the list's own was compacted.
NEWEST_REVISION: Final = -1
_FORMAT: Final = "meta.k8s.io/v1"
_FIELDS: Final = {"v": (str, "string"), "rv": (int, "int64"), "start": (str, "string")}
_FOREIGN: Final = re.compile(rb"[^A-Za-z0-9_\-\r\n]")


@dataclass(frozen=True, slots=True)
class ContinueToken:
    """Continue token: revision of the list, and the key to go on from, relative to the list's prefix."""

    revision: int
    start: str

    def encode(self) -> str:
        """Return the token as clients carry it."""
        plain = orjson.dumps({"v": _FORMAT, "rv": self.revision, "start": self.start})
        return base64.urlsafe_b64encode(plain).rstrip(b"=").decode()


def decode_continue_token(text: str) -> ContinueToken:
    """Decode a continue token; raise BadRequest if it is malformed."""
    token = _parse(_decode_base64(text.encode(errors="surrogatepass")))
    if token["v"] != _FORMAT:
        _reject(f": server does not recognize this encoded version {token['v']}")
    if not token["rv"]:
        _reject(f": incorrect encoded start resourceVersion (version {_FORMAT})")
    start: str = token["start"]
    if not start:
        _reject(f": encoded start key empty (version {_FORMAT})")
    key = start if start.startswith("/") else f"/{start}"
    # A start key with `..` could leave the prefix of the list. Unlike Go, normpath keeps two slashes at the start.
    if key.startswith("//") or posixpath.normpath(key) != key:
        _reject(f": {start}")
    return ContinueToken(token["rv"], key[1:])


def _reject(why: str) -> NoReturn:
    raise BadRequest(f"invalid continue token: continue key is not valid{why}")


def _decode_base64(text: bytes) -> bytes:
    """Decode base64 for URLs without padding; line ends are ignored."""
    if foreign := _FOREIGN.search(text):
        _reject(f": illegal base64 data at input byte {foreign.start()}")
    characters = text.translate(None, b"\r\n")
    if len(characters) % 4 == 1:
        _reject(f": illegal base64 data at input byte {len(text) - 1}")
    return base64.urlsafe_b64decode(characters + b"=" * (-len(characters) % 4))


def _parse(plain: bytes) -> dict[str, Any]:
    """Return the fields of a token; what is missing has Go's zero value."""
    try:
        value = orjson.loads(plain)
    except orjson.JSONDecodeError:
        _reject(f": {go_json_errors.find_syntax_error(plain)}")
    token: dict[str, Any] = {name: kind() for name, (kind, _) in _FIELDS.items()}
    if value is None:
        return token
    if not isinstance(value, dict):
        _reject(f": {describe_unmarshal_error(value, '', '', 'storage.continueToken')}")
    for name, (kind, go) in _FIELDS.items():
        given = value.get(name)
        if given is None:
            continue
        fits = isinstance(given, kind) and not isinstance(given, bool)
        if not fits or (kind is int and not -(1 << 63) <= given < 1 << 63):
            _reject(f": {describe_unmarshal_error(given, 'continueToken', name, go)}")
        token[name] = given
    return token
