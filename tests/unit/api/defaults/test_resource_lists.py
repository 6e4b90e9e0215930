import pytest

from mockkube.api.quantities.rounding import round_up_resource_list, round_up_resources


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param("1", "1", id="whole"),
        pytest.param("1500m", "1500m", id="thousandths"),
        pytest.param("64Mi", "64Mi", id="binary"),
        pytest.param("1u", "1m", id="a millionth"),
        pytest.param("1n", "1m", id="a billionth"),
        pytest.param("999500u", "1", id="up to the next whole"),
        pytest.param("-1u", "-1m", id="negative, away from zero"),
        pytest.param("-5", "-5", id="negative and whole"),
        pytest.param("1500e-6", "2e-3", id="in exponents"),
        pytest.param("1e-3", "1e-3", id="exactly a thousandth"),
        pytest.param("1.000100", "1001m", id="written with places"),
    ],
)
def test_amounts_are_rounded_up_to_thousandths(given, kept):
    amounts = {"cpu": given}
    round_up_resource_list(amounts)
    assert amounts == {"cpu": kept}


def test_limits_and_requests_are_rounded():
    resources = {"limits": {"cpu": "1u"}, "requests": {"cpu": "1n"}, "claims": [{"name": "gpu"}]}
    round_up_resources(resources)
    assert resources == {"limits": {"cpu": "1m"}, "requests": {"cpu": "1m"}, "claims": [{"name": "gpu"}]}


def test_nothing_is_made_of_nothing():
    round_up_resource_list(None)
    resources = {}
    round_up_resources(resources)
    assert resources == {}
