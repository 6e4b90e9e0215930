"""Load curves: amounts over time, as annotations write them.

`250m` is the same at any time. `100m@0s 500m@10m 100m@1h` changes in straight lines from point to point and stays at
the last one; `repeat@24h` at the end starts over every 24 hours.
"""

from bisect import bisect_right
from decimal import Decimal
from functools import lru_cache
from typing import Final

from mockkube_cel.golang.gotime import parse_duration

from mockkube.api.quantities.quantity import parse
from mockkube.lazy_dataclasses import dataclass

_REPEAT: Final = "repeat"
_NANOSECONDS: Final = 1e9
# More than any container uses, and few enough digits to compute with.
_AMOUNT_MAX: Final = Decimal(10) ** 18
_EXAMPLE: Final = "write a quantity like 250m, or points like 100m@0s 500m@10m"


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """Amount over time in straight lines between points; the seconds of the points ascend."""

    seconds: tuple[float, ...]
    amounts: tuple[Decimal, ...]
    period_seconds: float = 0.0
    """Time after which the curve starts over; 0: never."""

    def get_amount(self, age_seconds: float) -> Decimal:
        """Return the amount so long after the start of the curve."""
        at = age_seconds % self.period_seconds if self.period_seconds else age_seconds
        after = bisect_right(self.seconds, at)
        if after == 0:
            return self.amounts[0]
        if after == len(self.seconds):
            return self.amounts[-1]
        start, end = self.seconds[after - 1], self.seconds[after]
        low, high = self.amounts[after - 1], self.amounts[after]
        # A fraction in millionths: decimals of a float would show its binary digits.
        part = Decimal(round((at - start) / (end - start) * 1_000_000)) / 1_000_000
        return low + (high - low) * part


@lru_cache(maxsize=1024)
def parse_load_curve(text: str) -> LoadCurve:
    """Parse a curve; raise ValueError with the remedy if it is none."""
    words = text.split()
    period = 0.0
    if words and words[-1].startswith(f"{_REPEAT}@"):
        period = _parse_seconds(words.pop().partition("@")[2])
        if period <= 0:
            raise ValueError(f"{text!r}: the time after repeat@ must be positive")
    if not words:
        raise ValueError(f"{text!r}: no amount: {_EXAMPLE}")
    points = [_parse_point(word, text, is_only=len(words) == 1) for word in words]
    seconds = tuple(at for at, _ in points)
    if list(seconds) != sorted(set(seconds)):
        raise ValueError(f"{text!r}: the times of the points must ascend")
    return LoadCurve(seconds, tuple(amount for _, amount in points), period)


def _parse_point(word: str, text: str, *, is_only: bool) -> tuple[float, Decimal]:
    amount, at, after = word.partition("@")
    if not at and not is_only:
        raise ValueError(f"{text!r}: {word!r} has no time: {_EXAMPLE}")
    try:
        quantity = parse(amount).amount
    except ValueError as error:
        raise ValueError(f"{text!r}: {amount!r}: {error}") from None
    if not 0 <= quantity <= _AMOUNT_MAX:
        raise ValueError(f"{text!r}: {amount!r} is negative or too large")
    return (_parse_seconds(after) if at else 0.0), quantity


def _parse_seconds(text: str) -> float:
    duration = parse_duration(text)
    if duration is None or duration.nanos < 0:
        raise ValueError(f"{text!r} is no duration: write one like 30s or 1h30m")
    return duration.nanos / _NANOSECONDS
