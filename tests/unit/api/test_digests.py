from mockkube.api.digests import digest_json


def test_equal_values_have_equal_digests_and_others_do_not():
    values = ({"a": 1}, {"a": 1}, {"a": 2}, {"a": "1"}, [1], {"a": 1})
    first, again, *others, last = [digest_json(value) for value in values]
    assert first == again == last
    assert len({first, *others}) == 4


def test_a_value_that_changes_in_place_has_another_digest():
    value = {"a": [1]}
    before = digest_json(value)
    value["a"].append(2)
    assert digest_json(value) != before
