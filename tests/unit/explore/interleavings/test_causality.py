"""Which steps of a run depend on each other."""

from itertools import permutations

from mockkube.explore.interleavings.accesses import Accesses, AccessRecorder
from mockkube.explore.interleavings.causality import Causality, Race
from mockkube.explore.interleavings.schedule import PlayedStep


def make_step(worker, reads=(), writes=(), *, ready=("a", "b", "c"), enabler=-1, touched=()):
    return PlayedStep(worker, 0.0, Accesses(set(reads), set(writes), set(touched), enabler), tuple(ready))


def test_steps_that_share_nothing_do_not_race():
    assert Causality([make_step("a", writes="x"), make_step("b", writes="y")]).races == []


def test_a_read_races_with_a_write():
    assert Causality([make_step("a", writes="x"), make_step("b", reads="x")]).races == [Race(0, 1)]


def test_members_of_a_collection_do_not_race_but_its_reader_does():
    steps = [make_step("a", writes=["p/1"], touched=["p"]), make_step("b", writes=["p/2"], touched=["p"])]
    assert Causality(steps).races == []
    assert Causality([*steps, make_step("c", reads=["p"])]).races == [Race(1, 2), Race(0, 2)]


def test_a_step_does_not_race_with_what_made_it_possible():
    steps = [make_step("a", writes="x"), make_step("b", reads="x", enabler=0)]
    assert Causality(steps).races == []


def test_a_worker_that_becomes_ready_was_made_possible_by_the_step_before():
    steps = [make_step("a", writes="x", ready=("a",)), make_step("b", reads="x", ready=("b",))]
    assert Causality(steps).races == []


def test_only_neighbors_in_a_chain_race():
    steps = [make_step("a", writes="x"), make_step("b", reads="x", writes="y"), make_step("c", reads="xy")]
    assert Causality(steps).races == [Race(0, 1), Race(1, 2)]


def test_a_reversal_takes_along_what_leads_to_the_later_step():
    steps = [
        make_step("a", writes="x"),
        make_step("b", writes="y"),
        make_step("c", writes="z"),
        make_step("b", reads="xy"),
    ]
    assert Causality(steps).reverse(Race(0, 3)) == [1, 3]


def test_runs_that_differ_in_the_order_of_independent_steps_are_equal():
    first, second, third = make_step("a", writes="x"), make_step("b", writes="y"), make_step("c", reads="x")
    whole = Causality([first, second, third]).identity
    assert Causality([second, first, third]).identity == whole
    assert Causality([third, second, first]).identity != whole


def test_what_is_read_between_steps_belongs_to_none():
    recorder = AccessRecorder()
    recorder.start_step(0)
    recorder.read("x")
    recorder.end_step()
    recorder.read("y")
    recorder.write("z")
    assert (recorder.current.read, recorder.current.written) == ({"x"}, {"z"})


def test_an_item_that_a_step_adds_and_takes_itself_makes_nothing_possible():
    recorder = AccessRecorder()
    recorder.start_step(3)
    recorder.record_added("queue key")
    recorder.record_taken("queue key")
    assert recorder.current.enabler == -1


def test_runs_with_other_dependencies_are_not_equal_by_chance():
    """Sums of Python's own hashes collide where one step gains what another one loses."""
    identities = set()
    orders = [order for order in permutations("abcdef") if order.index("a") < order.index("f")]
    for order in orders:
        steps = [make_step(worker, reads="x", writes="x", ready=order) for worker in order]
        identities.add(Causality(steps).identity)
    assert len(identities) == len(orders)
