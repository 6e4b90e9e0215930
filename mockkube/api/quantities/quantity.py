"""Quantities such as `100m`, `1.5Gi` and `2e3`: parsing, canonical form, arithmetic.

`to_canonical` gives the form of a quantity after a round trip through the API, `parse` gives one to compute with.
Upstream accepts numbers of any length and exponents up to 2^31, and so does this module; computing is bounded, so that
no quantity costs more than a short one: amounts stop at 1e1000, integers made of them at 64 bits.
"""

import re
from dataclasses import field
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_UP, Context, Decimal
from enum import StrEnum
from functools import lru_cache, total_ordering
from typing import Final

from mockkube.lazy_dataclasses import dataclass

# Number of texts whose quantities are cached; the least recently used one is dropped.
CACHE_MAX: Final = 8192
# Longest text that is cached: a long one may be a megabyte.
_CACHED_LENGTH_MAX: Final = 64
# Digits of an amount before the point; a larger amount counts as one of this many.
_DIGITS_MAX: Final = 1000

_PATTERN: Final = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_WRONG_FORMAT: Final = f"quantities must match the regular expression '{_PATTERN}'"
_WRONG_NUMBER: Final = "unable to parse numeric part of quantity"
_WRONG_SUFFIX: Final = "unable to parse quantity's suffix"

# Wider than the pattern in the message, as upstream's scanner is: digits may be missing altogether.
_SCANNER: Final = re.compile(r"([+-]?0*)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")

_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

_NANO: Final = -9
_INT64_MAX: Final = 2**63 - 1
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_SUMS: Final = Context(prec=2 * _DIGITS_MAX, Emax=MAX_EMAX, Emin=MIN_EMIN)


class Format(StrEnum):
    """Family of suffixes in which a quantity is written."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An exact amount and its format; equality, order and hash depend on the amount alone."""

    # At most 1e1000 if it was parsed: Python's default decimal context can compute with it.
    amount: Decimal
    format: Format = Format.DECIMAL_SI
    # Canonical text; formatted from the amount if not given.
    text: str = field(default="")

    def __post_init__(self) -> None:
        if not self.text:
            object.__setattr__(self, "text", _format_canonical(self.amount, self.format))

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return self.amount == other.amount if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: "Quantity") -> bool:
        return self.amount < other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(_SUMS.add(self.amount, other.amount), self.format if self.amount else other.format)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(_SUMS.subtract(self.amount, other.amount), self.format if self.amount else other.format)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.amount > 0) - (self.amount < 0)

    @property
    def is_integer(self) -> bool:
        """True if the amount has no fraction."""
        return _is_integer(self.amount)

    def value(self) -> int:
        """Return the amount in whole units, rounded away from zero, at most what 64 bits hold."""
        return self._scale_to_integer(0)

    def milli(self) -> int:
        """Return the amount in thousandths, rounded away from zero, at most what 64 bits hold."""
        return self._scale_to_integer(3)

    def _scale_to_integer(self, places: int) -> int:
        if self.amount.adjusted() + places > 19:
            return self.sign * _INT64_MAX
        scaled = self.amount.scaleb(places, _EXACT).to_integral_value(ROUND_UP)
        return max(-_INT64_MAX, min(_INT64_MAX, int(scaled)))


def to_canonical(value: str | int | float) -> str:
    """Return the form in which the API returns a quantity; raise ValueError with upstream's text if it is none."""
    return parse(value if isinstance(value, str) else _format_json_number(value)).text


def parse(text: str) -> Quantity:
    """Parse a quantity; raise ValueError with upstream's text if it is none.

    Amounts finer than a billionth are rounded away from zero.
    """
    return _parse_cached(text) if len(text) <= _CACHED_LENGTH_MAX else _parse(text)


def _parse(text: str) -> Quantity:
    # upstream 1.36: apimachinery/pkg/api/resource/quantity.go
    text = text.strip()
    scanned = _SCANNER.fullmatch(text) if text else None
    if scanned is None:
        raise ValueError(_WRONG_FORMAT)
    lead, whole, places, suffix = scanned.groups(default="")
    if suffix in _BINARY_SUFFIXES[1:]:
        return _parse_binary(text, lead, whole, places, _BINARY_SUFFIXES.index(suffix))
    exponent, style = _parse_suffix(suffix)
    digits = (whole or "0") + places
    scale = exponent - len(places)
    if len(digits) > 18 or scale < _NANO:
        return _make_bounded(_round_to_nano(_parse_number(lead, whole, places).scaleb(exponent, _EXACT)), style)
    # upstream keeps these texts unchanged, though +5, 05 and 1.500 have shorter canonical forms.
    is_canonical = scale % 3 == 0 and not digits.endswith("000") and not digits.startswith("0")
    amount = Decimal(f"{lead[:1].strip('0')}{digits}E{scale}")
    return _make_bounded(amount, style, text if is_canonical else "")


_parse_cached: Final = lru_cache(CACHE_MAX)(_parse)


def _make_bounded(amount: Decimal, style: Format, text: str = "") -> Quantity:
    """Return a quantity with a bounded amount; its text shows the exact one."""
    if amount.adjusted() < _DIGITS_MAX:
        return Quantity(amount, style, text)
    return Quantity(Decimal((amount.is_signed(), (1,), _DIGITS_MAX)), style, text or _format_canonical(amount, style))


def _parse_suffix(suffix: str) -> tuple[int, Format]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], Format.DECIMAL_SI
    try:
        exponent = int(suffix[1:]) if suffix[0] in "eE" else None
    except ValueError:
        exponent = None
    if exponent is None or not -(2**63) <= exponent < 2**63:
        raise ValueError(_WRONG_SUFFIX)
    # upstream converts the parsed int64 to int32, which wraps around.
    return (exponent + 2**31) % 2**32 - 2**31, Format.DECIMAL_EXPONENT


def _parse_binary(text: str, lead: str, whole: str, places: str, power: int) -> Quantity:
    plain = not places and len(whole or "0") <= 14 - 3 * power
    number = _parse_number(lead, whole or "0" if plain else whole, places)
    amount = _EXACT.multiply(number, Decimal(1024**power))
    if plain:
        # The same short cut as for decimals: +1Ki stays, 8Ki is composed anew.
        return Quantity(amount, Format.BINARY_SI, text if int(number) & 7 else "")
    amount = _round_to_nano(amount)
    # upstream caps quantities at an int64, but only those with binary suffixes.
    capped = amount.copy_sign(Decimal(1)).min(Decimal(_INT64_MAX), _EXACT).copy_sign(amount)
    return Quantity(capped, Format.BINARY_SI)


def _parse_number(lead: str, whole: str, places: str) -> Decimal:
    if not (lead.strip("+-") or whole or places):
        raise ValueError(_WRONG_NUMBER)
    return Decimal(f"{lead}{whole}.{places}")


def _round_to_nano(amount: Decimal) -> Decimal:
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent < _NANO:
        return amount.quantize(Decimal((0, (1,), _NANO)), ROUND_UP, _EXACT)
    return amount


def _is_integer(amount: Decimal) -> bool:
    return amount.adjusted() >= 0 and amount == amount.to_integral_value(ROUND_UP)


def _format_canonical(amount: Decimal, style: Format) -> str:
    """Return the amount with the largest suffix that leaves no fraction."""
    if not amount:
        return "0"
    if style is Format.BINARY_SI and abs(amount) >= 1024 and _is_integer(amount):
        return _format_binary(int(amount))
    # Printed, not taken apart: a tuple of a million digits takes a second.
    coefficient, _, power = f"{amount.copy_abs():E}".partition("E")
    whole, _, places = coefficient.partition(".")
    digits, exponent = whole + places, int(power) - len(places)
    mantissa = digits.rstrip("0").lstrip("0")
    exponent += len(digits) - len(digits.rstrip("0"))
    mantissa += "0" * (exponent % 3)
    exponent -= exponent % 3
    # upstream 1.36: past E there is no suffix, and it is left away: 1000E is written 1.
    suffix = _DECIMAL_SUFFIXES.get(exponent, "")
    if style is Format.DECIMAL_EXPONENT:
        suffix = f"e{exponent}" if exponent else ""
    return f"{'-' if amount < 0 else ''}{mantissa}{suffix}"


def _format_binary(number: int) -> str:
    power = 0
    while number % 1024 == 0 and power < len(_BINARY_SUFFIXES) - 1:
        number //= 1024
        power += 1
    return f"{number}{_BINARY_SUFFIXES[power]}"


def _format_json_number(value: float) -> str:
    """Format a JSON number as Go does: with an exponent only if very large or very small."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if value and not 1e-6 <= abs(value) < 1e21:
        return re.sub(r"e([+-])0", r"e\1", repr(value))
    return f"{Decimal(repr(value)):f}"
