from datetime import UTC, datetime, timedelta

import pytest

from mockkube.apiserver.authentication.service_account_authenticator import ServiceAccountTokenAuthenticator
from mockkube.apiserver.identity.service_account_tokens import TokenIssuer, TokenTerms
from mockkube.apiserver.identity.user import DEFAULT_AUDIENCE, InvalidCredentials
from mockkube.apiserver.registry import encoding

HOUR = timedelta(hours=1)


def terms():
    return TokenTerms((DEFAULT_AUDIENCE,), datetime(2026, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC), "id")


@pytest.fixture
def put(registry):
    async def put(kind, name, namespace="ns", uid="u", **metadata):
        resource = registry.find_storage_resource("", f"{kind.lower()}s")
        place = {"namespace": namespace} if namespace else {}
        body = {"metadata": {"name": name, **place, "uid": uid, **metadata}, "spec": {"containers": []}}
        obj = {"apiVersion": "v1", "kind": kind, **body}
        key, stored = resource.key(namespace, name), encoding.encode_stored(obj, resource.tag)
        store = registry.dependencies.store
        existing = resource.get_cached(namespace, name)
        if existing is None:
            entry = await store.create(key, stored)
        else:
            entry = await store.update(key, stored, expected=existing.revision)
        await registry.dependencies.watch_cache.wait_until_at(entry.revision)
        return obj

    return put


@pytest.fixture
async def robot(put):
    return await put("ServiceAccount", "robot")


@pytest.fixture
def issue(registry):
    now = registry.dependencies.clock.now()

    def issue(account, *, audiences=(DEFAULT_AUDIENCE,), issued=now, lasts=HOUR, **terms):
        return registry.dependencies.token_issuer.issue(
            account, TokenTerms(audiences, issued, issued + lasts, "id", **terms)
        )

    return issue


def review(registry, token, *audiences):
    return ServiceAccountTokenAuthenticator(registry)(token, audiences or (DEFAULT_AUDIENCE,))


def refused(registry, token, *audiences):
    with pytest.raises(InvalidCredentials) as error:
        review(registry, token, *audiences)
    return str(error.value)


async def test_a_token_speaks_for_its_account(registry, robot, issue):
    user = review(registry, issue(robot)).user
    assert (user.name, user.uid) == ("system:serviceaccount:ns:robot", "u")
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns")
    assert user.extra == {"authentication.kubernetes.io/credential-id": ("JTI=id",)}


async def test_a_token_of_a_pod_speaks_of_it_and_its_node(registry, robot, put, issue):
    pod, node = await put("Pod", "p", uid="up"), await put("Node", "n1", "", uid="un")
    extra = review(registry, issue(robot, bound_object=pod, node=node)).user.extra
    at = "authentication.kubernetes.io"
    assert extra[f"{at}/pod-name"] == ("p",)
    assert extra[f"{at}/pod-uid"] == ("up",)
    assert extra[f"{at}/node-name"] == ("n1",)
    assert extra[f"{at}/node-uid"] == ("un",)


async def test_a_token_is_good_for_audiences_of_its_own(registry, robot, issue):
    token = issue(robot, audiences=("a", "b"))
    assert review(registry, token, "b", "c").audiences == ("b",)
    text = f'token audiences ["a" "b"] is invalid for the target audiences ["{DEFAULT_AUDIENCE}"]'
    assert refused(registry, token) == text


async def test_a_token_is_good_a_minute_longer_than_it_says(registry, robot, issue):
    now = registry.dependencies.clock.now()
    assert review(registry, issue(robot, issued=now - HOUR - timedelta(seconds=50)))
    text = refused(registry, issue(robot, issued=now - HOUR - timedelta(seconds=70)))
    assert text == "service account token has expired"


async def test_a_token_is_not_good_before_its_time(registry, robot, issue):
    later = registry.dependencies.clock.now() + HOUR
    assert refused(registry, issue(robot, issued=later)) == "service account token is not valid yet"


async def test_a_token_ends_with_its_account(registry, put, issue):
    robot = {"metadata": {"name": "robot", "namespace": "ns", "uid": "u"}}
    assert refused(registry, issue(robot)) == 'serviceaccounts "robot" not found'
    await put("ServiceAccount", "robot", uid="another")
    assert refused(registry, issue(robot)) == "service account UID (another) does not match claim (u)"


@pytest.mark.parametrize(("kind", "namespace"), [("Pod", "ns"), ("Secret", "ns"), ("Node", "")])
async def test_a_token_ends_with_what_it_is_bound_to(registry, robot, put, issue, kind, namespace):
    bound = {"kind": kind, "metadata": {"name": "x", "uid": "u"}}
    assert refused(registry, issue(robot, bound_object=bound)) == "service account token has been invalidated"
    await put(kind, "x", namespace)
    assert review(registry, issue(robot, bound_object=bound))
    await put(kind, "x", namespace, uid="another")
    word = kind.lower()
    text = f"{word} UID (another) does not match service account {word} ref claim (u)"
    assert refused(registry, issue(robot, bound_object=bound)) == text


async def test_a_token_ends_a_minute_after_its_pod_was_to_be_gone(registry, robot, put, issue):
    token = issue(robot, bound_object=await put("Pod", "p"))
    await put("Pod", "p", deletionTimestamp="2999-01-01T00:00:00Z")
    assert review(registry, token)
    await put("Pod", "p", deletionTimestamp="2020-01-01T00:00:00Z")
    assert refused(registry, token) == "service account token has been invalidated"


async def test_tokens_of_others_are_left_to_them(registry, robot):
    assert review(registry, "secret") is None
    assert review(registry, TokenIssuer("https://example.com").issue(robot, terms())) is None
