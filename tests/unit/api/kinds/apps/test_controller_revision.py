import pytest

from mockkube.api.kinds.apps.controller_revision import ControllerRevisionStrategy

STRATEGY = ControllerRevisionStrategy()


@pytest.mark.parametrize(
    ("fields", "complaints"),
    [
        pytest.param({"revision": 1, "data": {}}, [], id="fine"),
        pytest.param({"revision": 1}, ["data: Required value: data is mandatory"], id="no data"),
        pytest.param(
            {"revision": -1, "data": []},
            [
                "revision: Invalid value: -1: must be greater than or equal to 0",
                "data: Required value: data must be a valid JSON object",
            ],
            id="wrong data",
        ),
    ],
)
def test_data_is_an_object(judge, fields, complaints):
    assert [str(error) for error in STRATEGY.validate({"metadata": {}, **fields}, judge())] == complaints


def test_data_never_changes(judge):
    (error,) = STRATEGY.validate_update({"revision": 2, "data": {"a": 1}}, {"revision": 1, "data": {}}, judge())
    assert str(error) == 'data: Invalid value: {"a":1}: field is immutable'
