import asyncio
import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from mockkube.apiserver.identity.request_header_options import RequestHeaderOptions, make_front_proxy_options
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.post_start_hooks.authentication_trust import (
    NAME,
    NAMESPACE,
    AuthenticationTrustController,
    combine_certificates,
)
from mockkube.apiserver.registry import deletion, updating
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.resource import RequestScope
from mockkube.features.capabilities import Capabilities

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def certificate(name, ends_at=NOW + timedelta(days=9000)):
    """Return a self-signed certificate in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(NOW - timedelta(days=9000)).not_valid_after(ends_at)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


CLIENT_CA, PROXY_CA = certificate("client"), certificate("proxy")
FRONT_PROXY = make_front_proxy_options(PROXY_CA.encode())
DATA = {
    "client-ca-file": CLIENT_CA,
    "requestheader-allowed-names": '["front-proxy-client"]',
    "requestheader-client-ca-file": PROXY_CA,
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-username-headers": '["X-Remote-User"]',
}
CALL = RequestScope(User("somebody"), NAMESPACE, NAME)


@pytest.fixture
def caps():
    return Capabilities(gates=frozenset({"RemoteRequestHeaderUID"}))


@contextlib.asynccontextmanager
async def running(registry, authority, request_header):
    made = AuthenticationTrustController(registry, authority, request_header)
    await made.start()
    task = asyncio.create_task(made.queue.run())
    yield made
    made.stop()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def rest(made):
    for _ in range(100):
        await asyncio.sleep(0)
        if not made.queue.is_busy:
            return
    raise AssertionError("it does not come to rest")


def stored(registry):
    record = registry.find_storage_resource("", "configmaps").get_cached(NAMESPACE, NAME)
    return None if record is None else record.load()["data"]


async def write(registry, data):
    resource = registry.find_storage_resource("", "configmaps")
    await updating.update(resource, CALL, lambda now: {**now, "data": data}, WriteOptions())


async def test_it_is_there_and_comes_back(registry):
    async with running(registry, CLIENT_CA, FRONT_PROXY) as made:
        assert stored(registry) == DATA
        await deletion.delete(registry.find_storage_resource("", "configmaps"), CALL, DeleteOptions())
        await rest(made)
        assert stored(registry) == DATA


async def test_what_other_servers_trust_stays_and_other_keys_do_not(registry):
    async with running(registry, CLIENT_CA, FRONT_PROXY) as made:
        other_ca, lists = certificate("other"), {"requestheader-allowed-names": '["a", "front-proxy-client", "a"]'}
        await write(registry, {"client-ca-file": other_ca, "mine": "too", **lists})
        await rest(made)
        names = '["a","front-proxy-client"]'
        assert stored(registry) == {
            **DATA, "client-ca-file": other_ca + CLIENT_CA, "requestheader-allowed-names": names
        }  # fmt: skip


async def test_the_headers_are_those_of_the_options(registry):
    options = RequestHeaderOptions(PROXY_CA.encode(), (), ("X-User",), ("X-Uid",), ("X-Group", "X-Team"), ("X-Extra-",))
    async with running(registry, "", options):
        assert stored(registry) == {
            "requestheader-allowed-names": "[]",
            "requestheader-client-ca-file": PROXY_CA,
            "requestheader-extra-headers-prefix": '["X-Extra-"]',
            "requestheader-group-headers": '["X-Group","X-Team"]',
            "requestheader-uid-headers": '["X-Uid"]',
            "requestheader-username-headers": '["X-User"]',
        }


async def test_without_anything_to_tell_there_is_nothing(registry):
    async with running(registry, "", None):
        assert stored(registry) is None


def test_expired_and_repeated_certificates_are_left_out():
    first, second = certificate("first"), certificate("second")
    just_expired = certificate("slack", NOW - timedelta(minutes=4))
    expired = certificate("expired", NOW - timedelta(minutes=6))
    assert combine_certificates(first + expired, just_expired + second + first, NOW) == first + just_expired + second
    assert combine_certificates(first, "", NOW) == first
    assert combine_certificates("", second, NOW) == second
    with pytest.raises(ValueError, match="PEM"):
        combine_certificates("no certificate", "nor this", NOW)
