"""Random numbers, uids, tokens and suffixes of generated names, one stream per owner."""

from random import Random as Generator
from random import SystemRandom
from typing import Final, Self

# No vowels, which could form words, nor characters that look alike. upstream 1.36: apimachinery/pkg/util/rand/rand.go
NAME_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH: Final = 5
TOKEN_BITS: Final = 256

_VERSION_MASK: Final = ~(0xF << 76)
_VERSION_4: Final = 4 << 76
_VARIANT_MASK: Final = ~(0x3 << 62)
_VARIANT_RFC_4122: Final = 0x2 << 62


def random_for(seed: int | str, owner: str) -> Generator:
    """Return the random stream of one owner.

    Streams are separate, so that an owner that draws more numbers does not change those of another owner.
    """
    return Generator(f"{seed}/{owner}")


def new_uid(random: Generator) -> str:  # hot: per created object
    """Return a version 4 UUID as text."""
    # Setting the bits directly is faster than building a `uuid.UUID` only to format it.
    bits = random.getrandbits(128) & _VERSION_MASK & _VARIANT_MASK | _VERSION_4 | _VARIANT_RFC_4122
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_name_suffix(random: Generator) -> str:
    """Return a random suffix as the API server appends it to a `generateName`."""
    return "".join(random.choices(NAME_ALPHABET, k=SUFFIX_LENGTH))


class Random:
    """Random source of one owner; unpredictable by default, repeatable with `from_seed`."""

    __slots__ = ("_secret", "generator")

    def __init__(self, random: Generator | None = None) -> None:
        self.generator = random or Generator()
        # Tokens must not be guessable, but a seeded run must repeat them.
        self._secret = random or SystemRandom()

    @classmethod
    def from_seed(cls, seed: int | str, owner: str) -> Self:
        """Return the random source of `owner` under `seed`, tokens included."""
        return cls(random_for(seed, owner))

    def new_uid(self) -> str:
        """Return a new uid for an object."""
        return new_uid(self.generator)

    def new_suffix(self) -> str:
        """Return a new suffix for a generated name."""
        return new_name_suffix(self.generator)

    def new_token(self) -> str:
        """Return a new bearer token, which cannot be guessed unless the source is seeded."""
        return f"{self._secret.getrandbits(TOKEN_BITS):064x}"
