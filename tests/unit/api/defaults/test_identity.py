import pytest

from mockkube.api.defaults import identity
from mockkube.features.capabilities import Capabilities


@pytest.mark.parametrize(("given", "kept"), [(None, 3600), (600, 600)])
def test_a_token_is_good_for_an_hour(given, kept):
    obj = {"spec": {"audiences": None, "expirationSeconds": given}}
    identity.default_token_request(obj, Capabilities())
    assert obj["spec"]["expirationSeconds"] == kept


def test_a_certificate_is_good_for_a_day():
    obj = {"spec": {}}
    identity.default_pod_certificate_request(obj, Capabilities())
    assert obj["spec"] == {"maxExpirationSeconds": 86400}
