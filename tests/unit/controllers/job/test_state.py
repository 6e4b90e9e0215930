"""The state of jobs that are gone is forgotten."""

from mockkube.client.protocol import Key
from mockkube.controllers.job.backoff import BackoffRecord
from mockkube.controllers.job.state import JobState

KEY = Key("ns", "j")


def test_jobs_that_came_and_went_leave_nothing() -> None:
    state = JobState()
    for number in range(100):
        key = Key("ns", f"j-{number}")
        state.store_backoff(key, BackoffRecord())
        state.expect_finalizer_removals(key, [f"pod-{number}"])
        # The job was deleted before its last write was answered.
        state.finished_observed(key)
        state.expect_finished(key, f"uid-{number}")
        state.forget(key)
    assert not any((state._backoff, state._finalizer_removals, state._finished))


def test_a_new_job_of_the_same_name_has_not_finished() -> None:
    state = JobState()
    state.expect_finished(KEY, "old")
    assert state.has_finished(KEY, "old")
    assert not state.has_finished(KEY, "new")
    state.finished_observed(KEY)
    assert not state.has_finished(KEY, "old")
