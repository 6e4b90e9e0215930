import pytest

from mockkube.api.kinds.authentication import token_request
from mockkube.api.kinds.certificates import pod_certificate_request
from mockkube.features.capabilities import Capabilities


@pytest.mark.parametrize(("given", "kept"), [(None, 3600), (600, 600)])
def test_a_token_is_good_for_an_hour(given, kept):
    obj = {"spec": {"audiences": None, "expirationSeconds": given}}
    token_request.default_token_request(obj, Capabilities())
    assert obj["spec"]["expirationSeconds"] == kept


def test_a_certificate_is_good_for_a_day():
    obj = {"spec": {}}
    pod_certificate_request.default_pod_certificate_request(obj, Capabilities())
    assert obj["spec"] == {"maxExpirationSeconds": 86400}
