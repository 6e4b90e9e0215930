"""Completion indexes as ordered intervals: `0-3,5`.

upstream 1.36: pkg/controller/job/indexed_job_utils.go
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from mockkube.lazy_dataclasses import dataclass

_INTEGER: Final = re.compile("[+-]?[0-9]+")
_INT64_MAX: Final = 2**63 - 1
_DIGITS_MAX: Final = 19
# First and last index of an interval.
Range = tuple[int, int]


def parse_integer(text: str) -> int | None:
    """Return the 64-bit number in a text, by Go's rules; None if there is none."""
    # The length is checked first: Python refuses to convert numbers of thousands of digits.
    if not _INTEGER.fullmatch(text) or len(text.lstrip("+-0")) > _DIGITS_MAX:
        return None
    number = int(text)
    return number if -_INT64_MAX - 1 <= number <= _INT64_MAX else None


@dataclass(frozen=True, slots=True)
class OrderedIntervals:
    """Completion indexes as ascending intervals that do not touch."""

    ranges: tuple[Range, ...] = ()

    @classmethod
    def parse(cls, text: str, completions: int) -> "OrderedIntervals":
        """Parse indexes below `completions`; parts that cannot be parsed are skipped."""
        return cls(tuple(_merge_ranges(_parse_ranges(text, completions))))

    @classmethod
    def from_indexes(cls, indexes: Iterable[int]) -> "OrderedIntervals":
        """Return the intervals of some indexes."""
        return cls(tuple(_merge_ranges((index, index) for index in sorted(indexes))))

    def __or__(self, other: "OrderedIntervals") -> "OrderedIntervals":
        return OrderedIntervals(tuple(_merge_ranges(sorted((*self.ranges, *other.ranges)))))

    def __contains__(self, index: int) -> bool:
        return any(first <= index <= last for first, last in self.ranges)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def __str__(self) -> str:
        return ",".join(_format_range(first, last) for first, last in self.ranges)

    def count_shared(self, other: "OrderedIntervals") -> int:
        """Return the number of indexes in both."""
        return sum(
            max(min(last, other_last) - max(first, other_first) + 1, 0)
            for first, last in self.ranges
            for other_first, other_last in other.ranges
        )

    def first_missing(self, completions: int, count: int) -> list[int]:
        """Return the first `count` indexes below `completions` that are not contained."""
        return list(islice(self._gaps(completions), count))

    def _gaps(self, completions: int) -> Iterator[int]:
        start = 0
        for first, last in self.ranges:
            yield from range(start, min(first, completions))
            start = max(start, last + 1)
        yield from range(start, completions)


def _parse_ranges(text: str, completions: int) -> Iterator[Range]:
    for part in text.split(",") if text else ():
        first_text, dash, last_text = part.partition("-")
        first = parse_integer(first_text)
        last = parse_integer(last_text) if dash else first
        if first is None or last is None:
            continue
        if first >= completions:
            return
        yield first, min(last, completions - 1)


def _merge_ranges(ranges: Iterable[Range]) -> Iterator[Range]:
    """Merge ascending ranges that touch or overlap."""
    held: Range | None = None
    for first, last in ranges:
        if held is None or first > held[1] + 1:
            if held is not None:
                yield held
            held = (first, last)
        else:
            held = (held[0], max(held[1], last))
    if held is not None:
        yield held


def _format_range(first: int, last: int) -> str:
    if first == last:
        return str(first)
    # Two neighbours are listed, longer runs are ranges, as upstream prints them.
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
