"""Identity is well-formed, and repeats itself exactly when it is seeded."""

from uuid import RFC_4122, UUID

from mockkube.runtime.random import NAME_ALPHABET, Random, new_name_suffix, new_uid, random_for


def test_a_uid_is_a_version_4_uuid_in_canonical_text() -> None:
    random = random_for(1, "uids")
    for _ in range(200):
        text = new_uid(random)
        uid = UUID(text)
        assert str(uid) == text
        assert uid.version == 4
        assert uid.variant == RFC_4122


def test_uids_do_not_repeat() -> None:
    chance = Random()
    assert len({chance.new_uid() for _ in range(1000)}) == 1000


def test_a_suffix_is_five_characters_of_the_alphabet_of_generated_names() -> None:
    random = random_for(1, "names")
    seen = {character for _ in range(500) for character in new_name_suffix(random)}
    assert len(new_name_suffix(random)) == 5
    assert seen == set(NAME_ALPHABET)


def test_the_same_seed_and_owner_draw_the_same() -> None:
    first, second = Random.from_seed(7, "apiserver"), Random.from_seed(7, "apiserver")
    assert [first.new_uid(), first.new_suffix(), first.new_token()] == [
        second.new_uid(),
        second.new_suffix(),
        second.new_token(),
    ]


def test_owners_of_one_seed_draw_from_streams_of_their_own() -> None:
    quiet, busy = Random.from_seed(7, "scheduler"), Random.from_seed(7, "scheduler")
    for _ in range(10):
        Random.from_seed(7, "kubelet").new_uid()
    assert quiet.new_uid() == busy.new_uid()
    assert Random.from_seed(7, "scheduler").new_uid() != Random.from_seed(7, "kubelet").new_uid()


def test_tokens_of_an_unseeded_chance_are_long_and_differ() -> None:
    chance = Random()
    tokens = {chance.new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {64}
