import pytest

from mockkube.apiserver.admission.plugins import tolerations

ANY = {"operator": "Exists"}
A = {"key": "a", "operator": "Exists"}
A_ONE = {"key": "a", "operator": "Equal", "value": "1"}


@pytest.mark.parametrize(
    ("wide", "narrow", "covered"),
    [
        pytest.param(ANY, A_ONE, True, id="everything covers one value"),
        pytest.param(A, A_ONE, True, id="a key covers its values"),
        pytest.param(A_ONE, A, False, id="a value does not cover its key"),
        pytest.param(A, {"key": "b", "operator": "Exists"}, False, id="another key"),
        pytest.param({**A, "effect": "NoSchedule"}, A, False, id="one effect does not cover all"),
        pytest.param(
            {**A, "effect": "NoExecute", "tolerationSeconds": 5},
            {**A, "effect": "NoExecute", "tolerationSeconds": 9},
            False,
            id="not for longer",
        ),
    ],
)
def test_what_one_toleration_covers(wide, narrow, covered):
    assert tolerations.covers(wide, narrow) is covered


def test_merging_drops_what_is_covered_from_either_side():
    assert tolerations.merge_tolerations([A_ONE, {"key": "b", "operator": "Exists"}], [A, A]) == [
        {"key": "b", "operator": "Exists"},
        A,
    ]


def test_no_list_allows_everything():
    assert tolerations.are_allowed([A], [])
    assert tolerations.are_allowed([A_ONE], [A])
    assert not tolerations.are_allowed([A], [A_ONE])
