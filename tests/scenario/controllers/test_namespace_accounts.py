"""What every namespace has."""

import pytest

ROOT_CA = "kube-root-ca.crt"


@pytest.fixture
async def ensured(sim):
    await sim.start("serviceaccount-controller", "root-ca-certificate-publisher-controller")
    return sim


async def test_a_new_namespace_gets_its_account_and_certificate(ensured):
    await ensured.create("Namespace", "n", "")
    assert await ensured.get("ServiceAccount", "default", "n")
    published = await ensured.get("ConfigMap", ROOT_CA, "n")
    assert published["metadata"]["annotations"]["kubernetes.io/description"].startswith("Contains a CA bundle")


async def test_both_come_back(ensured):
    await ensured.delete("ServiceAccount", "default")
    await ensured.delete("ConfigMap", ROOT_CA)
    assert await ensured.get("ServiceAccount", "default")
    assert await ensured.get("ConfigMap", ROOT_CA)


async def test_what_is_added_to_the_certificate_is_taken_out_again(ensured):
    await ensured.merge("ConfigMap", ROOT_CA, {"data": {"x": "y"}})
    assert list((await ensured.get("ConfigMap", ROOT_CA))["data"]) == ["ca.crt"]
