"""Parse the compressed indexes of indexed jobs, such as `1,3-5,7`."""

import re
from collections.abc import Iterator
from typing import Final

from mockkube.api.fields import quote

_INTEGER: Final = re.compile("[-+]?[0-9]+")


def count_indexes(text: str, completions: int) -> int:
    """Return the number of indexes; raise ValueError, with upstream's message, if malformed."""
    # upstream 1.36: pkg/apis/batch/validation/validation.go, validateIndexesFormat
    last, total = None, 0
    for part in text.split(",") if text else ():
        first, end = _parse_interval(part, completions)
        if last is not None and last >= first:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def find_common_index(completed: str, failed: str, completions: int) -> int | None:
    """Return the first index that is in both lists, ignoring malformed intervals."""
    if not completed or not failed:
        return None
    done, lost = list(_parse_intervals(completed, completions)), list(_parse_intervals(failed, completions))
    # Both lists are sorted, so they are merged like ordered intervals instead of being expanded: there may be 100,000
    # indexes.
    while done and lost:
        (low, high), (start, end) = done[0], lost[0]
        if low <= end and start <= high:
            return max(low, start)
        (done if low <= start else lost).pop(0)
    return None


def _parse_intervals(text: str, completions: int) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        try:
            yield _parse_interval(part, completions)
        except ValueError:
            continue


def _parse_interval(text: str, completions: int) -> tuple[int, int]:
    first, *rest = text.split("-")
    if len(rest) > 1:
        detail = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise ValueError(f"the fragment {quote(text)} {detail}")
    start = _parse_index(first, completions)
    if not rest:
        return start, start
    end = _parse_index(rest[0], completions)
    if start >= end:
        raise ValueError(f"non-increasing order, previous: {start}, current: {end}")
    return start, end


def _parse_index(text: str, completions: int) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"cannot convert string to integer for index: {quote(text)}")
    if int(text) >= completions:
        raise ValueError(f"too large index: {quote(text)}")
    return int(text)
