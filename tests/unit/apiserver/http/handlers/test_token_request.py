import base64
from datetime import timedelta

import orjson
import pytest

from mockkube.api.errors import BadRequest, Conflict, Invalid, NotFound
from mockkube.api.times import parse_time
from mockkube.apiserver.http.handlers import token_request
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.registry import creation
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope

PATH = "/api/v1/namespaces/ns/serviceaccounts/robot/token"


@pytest.fixture
def put(registry, post):
    async def put(plural, obj, namespace="ns"):
        resource = registry.find_storage_resource("", plural)
        call = RequestScope(post("/api/v1/pods", {})[0].user, namespace)
        return (await creation.create(resource, call, resource.decode(obj, call, "Strict"), WriteOptions())).load()

    return put


@pytest.fixture
async def account(put):
    return await put("serviceaccounts", {"metadata": {"name": "robot"}})


@pytest.fixture
def request_token(registry, post):
    async def request_token(spec=None, *, path=PATH, **metadata):
        exchange, target = post(path, {"spec": spec or {}, "metadata": metadata})
        call = RequestScope(exchange.user, target.namespace, target.name, target.subresource)
        asked = ResourceRequest(registry, registry.find_storage_resource("", "serviceaccounts"), target, exchange, call)
        return post.answer(await token_request.create_token(asked))

    return request_token


def claims_of(answer):
    payload = answer["status"]["token"].split(".")[1]
    return orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


def pod(name="p", **spec):
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


async def test_a_token_says_whose_it_is_and_for_how_long(account, request_token):
    answer = await request_token({"expirationSeconds": 600})
    assert answer["metadata"]["uid"] == account["metadata"]["uid"]
    assert answer["spec"] == {
        "audiences": ["https://kubernetes.default.svc"],
        "boundObjectRef": None,
        "expirationSeconds": 600,
    }
    claims = claims_of(answer)
    assert claims["sub"] == "system:serviceaccount:ns:robot"
    assert claims["exp"] - claims["iat"] == 600
    assert claims["exp"] == int(parse_time(answer["status"]["expirationTimestamp"]).timestamp())


async def test_two_tokens_differ(account, request_token):
    one, two = claims_of(await request_token()), claims_of(await request_token())
    assert one["jti"] != two["jti"]


@pytest.mark.parametrize("seconds", [pytest.param(599, id="too short"), pytest.param((1 << 32) + 1, id="too long")])
async def test_a_time_out_of_bounds_is_invalid(account, request_token, seconds):
    with pytest.raises(Invalid, match=r"spec\.expirationSeconds"):
        await request_token({"expirationSeconds": seconds})


async def test_there_is_no_token_for_nobody(request_token):
    with pytest.raises(NotFound, match='serviceaccounts "robot" not found'):
        await request_token()


async def test_a_request_must_mean_the_account_it_is_sent_to(account, request_token):
    with pytest.raises(Invalid, match="must match the service account name if specified"):
        await request_token(name="other")
    with pytest.raises(BadRequest, match="the namespace of the provided object"):
        await request_token(namespace="other")


async def test_a_token_of_a_pod_says_which_and_on_which_node(account, put, request_token):
    node = await put("nodes", {"metadata": {"name": "n1"}}, "")
    made = await put("pods", pod(nodeName="n1", serviceAccountName="robot"))
    claims = claims_of(await request_token({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}))
    assert claims["kubernetes.io"]["pod"] == {"name": "p", "uid": made["metadata"]["uid"]}
    assert claims["kubernetes.io"]["node"] == {"name": "n1", "uid": node["metadata"]["uid"]}


async def test_a_token_pods_ask_for_by_default_is_good_for_a_year(account, put, request_token):
    await put("pods", pod(serviceAccountName="robot"))
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    answer = await request_token({"boundObjectRef": bound, "expirationSeconds": 3607})
    claims = claims_of(answer)
    assert claims["exp"] - claims["iat"] == timedelta(days=365).total_seconds()
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    assert int(parse_time(answer["status"]["expirationTimestamp"]).timestamp()) - claims["iat"] == 3607


@pytest.mark.parametrize(
    ("reference", "error", "text"),
    [
        pytest.param({"kind": "Pod", "name": "gone"}, NotFound, 'pods "gone" not found', id="no such pod"),
        pytest.param({"kind": "Pod", "name": "p"}, BadRequest, "different serviceaccount name", id="another's pod"),
        pytest.param(
            {"kind": "Secret", "name": "s", "uid": "x"}, Conflict, "does not match the UID in record", id="uid"
        ),
        pytest.param(
            {"kind": "ConfigMap", "apiVersion": "v1", "name": "m"},
            BadRequest,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
            id="what no token can be bound to",
        ),
    ],
)
async def test_a_token_is_bound_to_nothing_but_what_is_there(account, put, request_token, reference, error, text):
    await put("pods", pod(serviceAccountName="another"))
    await put("secrets", {"metadata": {"name": "s"}})
    with pytest.raises(error, match=text):
        await request_token({"boundObjectRef": reference})
