import pytest

from mockkube.api.kinds.core.config_map import ConfigMapStrategy, decoded_length

STRATEGY = ConfigMapStrategy()


def config_map(**fields):
    return {"metadata": {"name": "c"}, **fields}


@pytest.mark.parametrize(
    ("fields", "complaints"),
    [
        pytest.param({"data": {"a.b-c_d": "x"}}, [], id="plain"),
        pytest.param({"data": {"..": "x"}}, ["data[..]: Invalid value: \"..\": must not be '..'"], id="climbing"),
        pytest.param(
            {"data": {"a": "x"}, "binaryData": {"a": "eA=="}},
            ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
            id="same key twice",
        ),
        pytest.param(
            {"data": {"a": "x" * (1024 * 1024 + 1)}}, [": Too long: may not be more than 1048576 bytes"], id="too large"
        ),
    ],
)
def test_keys_and_size_are_judged(judge, fields, complaints):
    assert [str(error) for error in STRATEGY.validate(config_map(**fields), judge())] == complaints


def test_a_key_of_other_letters_is_no_key(judge):
    assert len(STRATEGY.validate(config_map(data={"ключ": "x"}), judge())) == 1


def test_what_is_frozen_does_not_thaw(judge):
    old = config_map(data={"a": "1"}, immutable=True)
    text = "Forbidden: field is immutable when `immutable` is set"
    errors = STRATEGY.validate_update(config_map(data={"a": "2"}), old, judge())
    assert [str(error) for error in errors] == [f"immutable: {text}", f"data: {text}"]


@pytest.mark.parametrize(("text", "size"), [("", 0), ("eA==", 1), ("eHk=", 2), ("eHl6", 3), (None, 0)])
def test_bytes_are_counted_as_they_are_decoded(text, size):
    assert decoded_length(text) == size
