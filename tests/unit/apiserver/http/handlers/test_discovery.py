"""The documents that say what is served."""

import pytest

from mockkube.apiserver.http.handlers.discovery import AGGREGATED, Discovery, storage_version_hash, wants_aggregated
from mockkube.apiserver.registry.registry import Registry


@pytest.fixture
def discovery(registry: Registry) -> Discovery:
    return Discovery(registry)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        pytest.param(AGGREGATED, True, id="version 2"),
        pytest.param(f"{AGGREGATED},application/json;q=0.9", True, id="version 2 first"),
        pytest.param("application/json", False, id="JSON"),
        pytest.param(
            "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList", False, id="unknown version"
        ),
        pytest.param("application/json;g=other;v=v2;as=APIGroupDiscoveryList", False, id="another group"),
        pytest.param("", False, id="nothing said"),
    ],
)
def test_everything_at_once_is_for_those_who_ask(accept: str, wanted: bool) -> None:
    assert wants_aggregated(accept) is wanted


def test_the_storage_version_is_told_by_a_hash_of_its_name() -> None:
    assert storage_version_hash("", "v1", "Pod") == "xPOwRZ+Yhw8="  # as a real server tells it
    assert storage_version_hash("apps", "v1", "Deployment") == "8aSe+NMegvE="


async def test_groups_prefer_their_first_version(discovery: Discovery) -> None:
    group = discovery.find_group("autoscaling")
    assert group is not None
    assert [one["version"] for one in group["versions"]] == ["v2", "v1"]
    assert group["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}
    assert discovery.find_group("nothing") is None
    assert discovery.find_group("") is None


async def test_the_core_is_no_group_of_the_list(discovery: Discovery) -> None:
    names = [group["name"] for group in discovery.group_list()["groups"]]
    assert "" not in names
    assert names[:2] == ["apiregistration.k8s.io", "apps"]
    assert discovery.core_versions("host:1")["versions"] == ["v1"]


async def test_a_resource_is_followed_by_its_subresources(discovery: Discovery) -> None:
    whole = discovery.find_resource_list("apps", "v1")
    assert whole is not None
    names = [entry["name"] for entry in whole["resources"]]
    assert names[names.index("deployments") :][:3] == ["deployments", "deployments/scale", "deployments/status"]
    scale = next(entry for entry in whole["resources"] if entry["name"] == "deployments/scale")
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")
    assert discovery.find_resource_list("apps", "v2") is None


async def test_versions_that_are_not_stable_are_not_served(discovery: Discovery) -> None:
    versions = {version for served in discovery.groups.values() for version in served}
    assert versions == {"v1", "v2"}


async def test_at_once_means_the_same_resources(discovery: Discovery) -> None:
    for group, versions in discovery.groups.items():
        whole = discovery.build_aggregated(core=not group)
        item = next(one for one in whole["items"] if one["metadata"].get("name", "") == group)
        for told in item["versions"]:
            served = sorted(kind.plural for kind in versions[told["version"]])
            assert [one["resource"] for one in told["resources"]] == served
