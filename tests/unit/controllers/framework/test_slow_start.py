import pytest

from mockkube.api.errors import Forbidden
from mockkube.controllers.framework.slow_start import slow_start_batch


@pytest.mark.parametrize(
    ("count", "fails_at", "called", "successes"),
    [
        pytest.param(0, None, 0, 0, id="nothing to do"),
        pytest.param(7, None, 7, 7, id="all succeed"),
        pytest.param(10, 0, 1, 0, id="the first fails, and is the only one tried"),
        pytest.param(10, 1, 3, 2, id="the second batch is finished though its first fails"),
        pytest.param(10, 6, 7, 6, id="the third batch of four ends it"),
    ],
)
async def test_batches_double_until_one_fails(count, fails_at, called, successes):
    calls = []

    async def create(index):
        calls.append(index)
        if index == fails_at:
            raise Forbidden("quota")

    batches = await slow_start_batch(count, create)
    assert calls == list(range(called))
    assert batches.successes == successes
    assert (batches.error is None) == (fails_at is None)
