"""Stream of rows to one page: the present state first, then the past, then every change, as lines of JSON."""

from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from typing import Any, Final

import orjson

from mockkube.runtime.clock import Clock
from mockkube.ui.access import RowAccess
from mockkube.ui.cluster_history import Change, ClusterHistory, RowKey
from mockkube.ui.object_rows import Row

# Changes within this time are sent together: a page draws a few times a second, however much happens.
BATCH_SECONDS: Final = 0.1
# Time between the present and the past, in which a page draws the present.
PAUSE_SECONDS: Final = 0.05
# Changes in one line of the past, so that a page can draw between two of them.
_CHANGES_PER_LINE: Final = 1000


async def read_lines(
    history: ClusterHistory, access: RowAccess, cluster: dict[str, Any], pace_clock: Clock
) -> AsyncIterator[bytes]:
    """Yield the lines of a stream; it ends when its reader is too slow, and can be opened again."""
    number = history.next_number
    past = list(history.changes)
    base, start = list(history.base.items()), history.start
    yield _encode_line("state", cluster=cluster, rows=_encode_rows(history.current.items(), access))
    # A page can draw what exists now before it has the past, and so can others be answered.
    await pace_clock.sleep(PAUSE_SECONDS)
    yield _encode_line("base", start=start, rows=_encode_rows(base, access))
    changes = iter(past)
    while chunk := list(islice(changes, _CHANGES_PER_LINE)):
        await pace_clock.sleep(0)
        yield _encode_line("past", changes=list(_encode_changes(chunk, access)))
    yield _encode_line("live")
    while True:
        await history.wait(number)
        await pace_clock.sleep(BATCH_SECONDS)
        found = history.read_changes(number)
        if found is None:
            return
        number += len(found)
        if encoded := list(_encode_changes(found, access)):
            yield _encode_line("changes", changes=encoded)


def _encode_rows(rows: Iterable[tuple[RowKey, Row]], access: RowAccess) -> list[list[Any]]:
    # hot: all objects of the cluster, before the page shows anything
    every = access.find_unrestricted()
    return [[*key, row] for key, row in rows if key[0] in every or access.allows(key)]


def _encode_changes(changes: Iterable[Change], access: RowAccess) -> Iterator[list[Any]]:
    return ([*one.key, one.row, one.revision, one.at] for one in changes if access.allows(one.key))


def _encode_line(kind: str, **fields: Any) -> bytes:
    return orjson.dumps({"type": kind, **fields}) + b"\n"
