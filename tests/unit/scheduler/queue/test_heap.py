"""The heap: the least rank first, whatever was taken out in between."""

from hypothesis import given
from hypothesis import strategies as st

from mockkube.scheduler.queue.heap import Heap

COMMANDS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), st.integers(0, 5)),
        st.tuples(st.just("remove"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("pop"), st.just(0), st.just(0)),
    )
)


@given(COMMANDS)
def test_items_come_out_by_rank_then_by_arrival(commands):
    heap: Heap[str] = Heap()
    plain: dict[str, tuple[int, int]] = {}
    for number, (verb, item, rank) in enumerate(commands):
        uid = str(item)
        match verb:
            case "put":
                heap.put(uid, rank, uid)
                plain[uid] = (rank, number)
            case "remove":
                assert heap.remove(uid) == (uid if uid in plain else None)
                plain.pop(uid, None)
            case _:
                least = min(plain, key=plain.__getitem__, default=None)
                assert heap.peek() == least
                assert heap.pop() == least
                plain.pop(least, None)
        assert len(heap) == len(plain)
        assert set(heap) == set(plain)


def test_what_is_taken_out_again_and_again_leaves_nothing_behind():
    heap: Heap[int] = Heap()
    for rank in range(5000):
        heap.put("one", rank, rank)
        heap.remove("one")
    heap.put("two", 0, 2)
    assert len(heap._entries) < 2000
    assert heap.pop() == 2
