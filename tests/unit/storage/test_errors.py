"""Each error is one line that names what, where and why."""

import pytest
from mockkube_storage import errors
from mockkube_storage.model import Entry


@pytest.mark.parametrize(
    ("error", "text"),
    [
        pytest.param(errors.Conflict("/a", None), "/a does not exist", id="conflict with nothing"),
        pytest.param(errors.Conflict("/a", Entry("/a", b"", 3, 7)), "/a is at revision 7", id="conflict"),
        pytest.param(
            errors.Compacted(3, 5), "revision 3 has been compacted, the oldest available is 5", id="compacted"
        ),
        pytest.param(errors.FutureRevision(9, 5), "revision 9 is in the future, the newest is 5", id="future"),
        pytest.param(errors.Lagged(4, 100), "watcher fell more than 100 events behind after revision 4", id="lagged"),
        pytest.param(
            errors.FormatTooNew("/x.db", 2, 1),
            "store /x.db is not available: its format is 2, this program knows formats up to 1; use a newer one",
            id="format",
        ),
    ],
)
def test_the_text_of_an_error(error: errors.StoreError, text: str) -> None:
    assert str(error) == text


@pytest.mark.parametrize("kind", [errors.Locked, errors.FormatTooNew])
def test_what_keeps_a_store_from_opening_is_unavailability(kind: type[errors.StoreError]) -> None:
    assert issubclass(kind, errors.Unavailable)
