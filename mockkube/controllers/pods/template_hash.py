"""Hash of a pod template, used in names of the objects created from it.

differs: upstream hashes a dump of Go structs; clients can observe only that equal templates have equal hashes.
upstream 1.36: pkg/controller/controller_utils.go (ComputeHash), apimachinery/pkg/util/rand (SafeEncodeString)
"""

from typing import Final

import orjson

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.runtime.random import NAME_ALPHABET

_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193
_ESCAPES: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def template_hash(template: ReadOnlyObject, collisions: int = 0) -> str:
    """Return the hash of a template; each collision count gives another one."""
    data = orjson.dumps(template, option=orjson.OPT_SORT_KEYS) + (str(collisions).encode() if collisions else b"")
    return safe_encode_string(fnv32a(data))


def go_json(value: ReadOnlyObject) -> bytes:
    """Return JSON as Go's encoder writes it: keys sorted, HTML characters escaped."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return text.translate(_ESCAPES).encode()


def fnv32(data: bytes) -> int:
    """Return the 32-bit FNV-1 hash."""
    value = _OFFSET
    for byte in data:
        value = value * _PRIME & 0xFFFFFFFF ^ byte
    return value


def fnv32a(data: bytes) -> int:
    """Return the 32-bit FNV-1a hash."""
    value = _OFFSET
    for byte in data:
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return value


def safe_encode_string(number: int) -> str:
    """Return a number encoded in characters that form no words."""
    # As SafeEncodeString: each decimal digit is mapped by its character code, so only ten of the characters occur.
    return "".join(NAME_ALPHABET[ord(digit) % len(NAME_ALPHABET)] for digit in str(number))


HASH_LABEL: Final = "controller-revision-hash"
