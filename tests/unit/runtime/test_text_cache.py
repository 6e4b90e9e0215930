"""What clients send is remembered while it is short, and only then."""

from mockkube.runtime.text_cache import LENGTH_MAX, cache_short_texts


def test_short_texts_are_computed_once_and_long_ones_each_time() -> None:
    computed = list[str]()

    @cache_short_texts(maxsize=8)
    def shout(text: str, other: str = "", *, loud: bool = True) -> str:
        computed.append(text)
        return text.upper() if loud else text

    short, long = "a", "b" * LENGTH_MAX
    for _ in range(3):
        assert (shout(short), shout(long), shout(long, "c")) == ("A", "B" * LENGTH_MAX, "B" * LENGTH_MAX)
    assert shout(short, loud=False) == "a"
    assert computed == ["a", long, long, long, long, "a"]
