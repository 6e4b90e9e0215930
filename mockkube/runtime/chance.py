"""Chance and identity: uids, suffixes of generated names, tokens, and the random streams they come from."""

from random import Random, SystemRandom
from typing import Final, Self

# No vowels and nothing that reads like another character. upstream 1.36: apimachinery/pkg/util/rand/rand.go
NAME_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH: Final = 5
TOKEN_BITS: Final = 256

_VERSION_MASK: Final = ~(0xF << 76)
_VERSION_4: Final = 4 << 76
_VARIANT_MASK: Final = ~(0x3 << 62)
_VARIANT_RFC_4122: Final = 0x2 << 62


def random_for(seed: int | str, owner: str) -> Random:
    """Return the stream of one owner: draws here shift nothing in another owner's stream of the same seed."""
    return Random(f"{seed}/{owner}")


def new_uid(random: Random) -> str:  # hot: per created object
    """Return a version 4 UUID as text, built without the detour through `uuid.UUID`."""
    bits = random.getrandbits(128) & _VERSION_MASK & _VARIANT_MASK | _VERSION_4 | _VARIANT_RFC_4122
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def name_suffix(random: Random) -> str:
    """Return what the API server appends to a `generateName`."""
    return "".join(random.choices(NAME_ALPHABET, k=SUFFIX_LENGTH))


class Chance:
    """The draws of one owner. `Chance()` is unpredictable; `Chance.seeded(...)` repeats itself for the same seed."""

    __slots__ = ("_secret", "random")

    def __init__(self, random: Random | None = None) -> None:
        self.random = random or Random()
        self._secret = random or SystemRandom()

    @classmethod
    def seeded(cls, seed: int | str, owner: str) -> Self:
        """Return the draws of `owner` under `seed`, tokens included."""
        return cls(random_for(seed, owner))

    def uid(self) -> str:
        """Return a fresh uid for an object."""
        return new_uid(self.random)

    def suffix(self) -> str:
        """Return a fresh suffix for a generated name."""
        return name_suffix(self.random)

    def token(self) -> str:
        """Return a fresh bearer token; nobody can guess it unless this chance is seeded."""
        return f"{self._secret.getrandbits(TOKEN_BITS):064x}"
