"""Processes with --join share credentials; without it, a store in use is refused."""

import asyncio
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.state.certificates import Certificates
from tests.contract.replication.conftest import Member, Start

Members = tuple[Member, Member, Member]


def test_all_processes_have_one_token_and_one_authority(members: Members) -> None:
    assert len({member.running.token for member in members}) == 1
    authorities = set()
    for member in members:
        assert member.running.ca_file is not None
        authorities.add(member.running.ca_file.read_bytes())
    assert len(authorities) == 1
    serving = {Certificates(member.running.kubeconfig.parent / "certificates").serving for member in members}
    assert len({path.read_bytes() for path in serving}) == 3


async def test_three_that_start_at_once_become_one_control_plane(start: Start) -> None:
    async with AsyncExitStack() as stack:
        members = await asyncio.gather(*[stack.enter_async_context(start(name)) for name in ("a", "b", "c")])
        assert len({member.running.token for member in members}) == 1


async def test_a_client_certificate_of_one_is_accepted_by_the_others(members: Members) -> None:
    one, two, _ = members
    context = ssl.create_default_context(cafile=two.running.ca_file)
    own = Certificates(one.running.kubeconfig.parent / "certificates")
    context.load_cert_chain(own.admin, own.admin_key)
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{two.running.url}/api/v1/namespaces/default", ssl=context) as response,
    ):
        assert response.status == 200


async def test_aggregated_api_servers_trust_the_front_proxies_of_all(members: Members) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    trusted = (await members[0].get(path))["data"]["requestheader-client-ca-file"]
    for member in members:
        directory = Certificates(member.running.kubeconfig.parent / "certificates")
        assert directory.front_proxy_authority.read_text() == trusted


async def test_a_process_that_starts_again_keeps_its_certificate(start: Start) -> None:
    async with start("one") as one:
        serving = Certificates(one.running.kubeconfig.parent / "certificates").serving
        async with start("two") as two:
            path = Certificates(two.running.kubeconfig.parent / "certificates").serving
            token = two.running.token
        async with start("two") as two:
            assert two.running.token == token
        assert path != serving


async def test_the_names_of_a_load_balancer_are_in_the_certificate(start: Start) -> None:
    async with start("one", cert_extra_sans=("api.example", "192.0.2.7"), advertise_address="192.0.2.8") as one:
        pem = Certificates(one.running.kubeconfig.parent / "certificates").serving.read_bytes()
    from cryptography import x509

    names = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "api.example" in names.get_values_for_type(x509.DNSName)
    assert {"192.0.2.7", "192.0.2.8"} <= set(map(str, names.get_values_for_type(x509.IPAddress)))


async def test_another_key_is_refused_and_leaves_nothing_behind(start: Start, tmp_path: Path) -> None:
    async with start("one"):
        with pytest.raises(StartError, match="encrypted with another key: give the key that its first process was"):
            async with start("two", cluster_key="another key of it"):
                pass
        assert not (tmp_path / "state" / "two").exists()


async def test_a_given_token_must_be_that_of_the_control_plane(start: Start) -> None:
    async with start("one", token="chosen") as one:
        assert one.running.token == "chosen"
        async with start("two", token="chosen") as two:
            assert two.running.token == "chosen"
        with pytest.raises(StartError, match="--token: the control plane in the database has another one"):
            async with start("three", token="other"):
                pass


async def test_without_a_key_the_processes_of_a_user_share_one(start: Start, tmp_path: Path) -> None:
    async with start("one", cluster_key=None) as one, start("two", cluster_key=None) as two:
        assert one.running.token == two.running.token
        assert (tmp_path / "state" / "cluster.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("first", "second", "remedy"),
    [
        pytest.param(True, False, "join it with --join", id="joins a control plane without the flag"),
        pytest.param(False, False, "start both with --join", id="neither has the flag"),
        pytest.param(False, True, "start that one with --join, too", id="only the second has the flag"),
    ],
)
async def test_a_database_in_use_is_refused(
    start: Start, tmp_path: Path, first: bool, second: bool, remedy: str
) -> None:
    async with start("one", join=first) as one:
        with pytest.raises(StartError, match=f"another control plane uses this database .*cluster 'one'.: {remedy}"):
            async with start("two", join=second):
                pass
        assert not (tmp_path / "state" / "two").exists()
        await one.get("/api/v1/namespaces/default")
    async with start("two", join=second) as two:
        await two.get("/api/v1/namespaces/default")


async def test_a_database_that_was_used_alone_can_be_shared_later(start: Start) -> None:
    async with start("one", join=False) as one:
        token = one.running.token
        await one.create("/api/v1/namespaces", {"metadata": {"name": "kept"}})
    async with start("one") as one, start("two") as two:
        assert one.running.token == two.running.token == token
        await two.get("/api/v1/namespaces/kept")


async def test_control_resources_name_their_process(members: Members) -> None:
    for member in members:
        url = f"{member.running.url}/apis/control.mockkube.dev/v1alpha1/components"
        headers = {"Authorization": f"Bearer {member.running.token}"}
        async with member.session.get(url, headers=headers) as response:
            (warning,) = response.headers.getall("Warning")
        assert f"cluster '{member.running.name}'" in warning
        async with member.session.get(f"{member.running.url}/api/v1/nodes", headers=headers) as response:
            assert "Warning" not in response.headers


async def test_no_list_shows_what_the_processes_share(members: Members) -> None:
    one = members[0]
    for group in ("/api/v1", "/apis/coordination.k8s.io/v1"):
        for resource in (await one.get(group))["resources"]:
            if "list" in resource["verbs"]:
                text = str(await one.get(f"{group}/{resource['name']}"))
                assert "ciphertext" not in text
                assert one.running.token not in text
