from mockkube.controllers.framework.expectations import EXPIRY_SECONDS, Expectations
from mockkube.runtime.virtual_time import VirtualClock


def test_who_expects_nothing_is_satisfied():
    assert Expectations(VirtualClock()).is_satisfied("k")


def test_creations_are_waited_for_one_by_one():
    expectations = Expectations(VirtualClock())
    expectations.expect_creations("k", 2)
    expectations.creation_observed("k")
    assert not expectations.is_satisfied("k")
    expectations.creation_observed("k")
    assert expectations.is_satisfied("k")


def test_a_deletion_counts_once_and_only_if_it_was_expected():
    expectations = Expectations(VirtualClock())
    expectations.expect_deletions("k", ["a", "b"])
    for uid in ("a", "a", "c"):
        expectations.deletion_observed("k", uid)
    assert not expectations.is_satisfied("k")
    expectations.deletion_observed("k", "b")
    assert expectations.is_satisfied("k")


def test_nobody_waits_longer_than_five_minutes():
    clock = VirtualClock()
    expectations = Expectations(clock)
    expectations.expect_creations("k", 1)
    clock.move_to(EXPIRY_SECONDS)
    assert not expectations.is_satisfied("k")
    clock.move_to(EXPIRY_SECONDS + 1)
    assert expectations.is_satisfied("k")


def test_what_is_forgotten_is_not_waited_for():
    expectations = Expectations(VirtualClock())
    expectations.set_expectations("k", creations=1, deletions=1)
    expectations.forget("k")
    assert expectations.is_satisfied("k")
