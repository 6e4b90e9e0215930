"""The hash of a pod template that names what is made from it.

differs: upstream hashes a dump of Go structures; only that equal templates hash equally can be told from outside.
upstream 1.36: pkg/controller/controller_utils.go (ComputeHash), apimachinery/pkg/util/rand (SafeEncodeString)
"""

from typing import Final

import orjson

from mockkube.api.types import ReadOnlyObject
from mockkube.runtime.chance import NAME_ALPHABET

_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193


def template_hash(template: ReadOnlyObject, collisions: int = 0) -> str:
    """Return the hash of a template, another one for each collision met before."""
    data = orjson.dumps(template, option=orjson.OPT_SORT_KEYS) + (str(collisions).encode() if collisions else b"")
    return safe_name(fnv32a(data))


def fnv32a(data: bytes) -> int:
    """Return the FNV-1a hash of 32 bits."""
    value = _OFFSET
    for byte in data:
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return value


def safe_name(number: int) -> str:
    """Return a number in letters and digits that spell nothing bad."""
    return "".join(NAME_ALPHABET[ord(digit) % len(NAME_ALPHABET)] for digit in str(number))
