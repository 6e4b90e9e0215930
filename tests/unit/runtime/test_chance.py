"""Identity is well-formed, and repeats itself exactly when it is seeded."""

from uuid import RFC_4122, UUID

from mockkube.runtime.chance import NAME_ALPHABET, Chance, new_name_suffix, new_uid, random_for


def test_a_uid_is_a_version_4_uuid_in_canonical_text() -> None:
    random = random_for(1, "uids")
    for _ in range(200):
        text = new_uid(random)
        uid = UUID(text)
        assert str(uid) == text
        assert uid.version == 4
        assert uid.variant == RFC_4122


def test_uids_do_not_repeat() -> None:
    chance = Chance()
    assert len({chance.uid() for _ in range(1000)}) == 1000


def test_a_suffix_is_five_characters_of_the_alphabet_of_generated_names() -> None:
    random = random_for(1, "names")
    seen = {character for _ in range(500) for character in new_name_suffix(random)}
    assert len(new_name_suffix(random)) == 5
    assert seen == set(NAME_ALPHABET)


def test_the_same_seed_and_owner_draw_the_same() -> None:
    first, second = Chance.from_seed(7, "apiserver"), Chance.from_seed(7, "apiserver")
    assert [first.uid(), first.suffix(), first.token()] == [second.uid(), second.suffix(), second.token()]


def test_owners_of_one_seed_draw_from_streams_of_their_own() -> None:
    quiet, busy = Chance.from_seed(7, "scheduler"), Chance.from_seed(7, "scheduler")
    for _ in range(10):
        Chance.from_seed(7, "kubelet").uid()
    assert quiet.uid() == busy.uid()
    assert Chance.from_seed(7, "scheduler").uid() != Chance.from_seed(7, "kubelet").uid()


def test_tokens_of_an_unseeded_chance_are_long_and_differ() -> None:
    chance = Chance()
    tokens = {chance.token() for _ in range(100)}
    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {64}
