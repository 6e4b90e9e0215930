import pytest

from mockkube.api.kinds.core.pod.containers.images import default_pull_policy

DIGEST = "sha256:" + "b" * 64


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        pytest.param("nginx", "Always", id="no tag"),
        pytest.param("nginx:latest", "Always", id="latest"),
        pytest.param("nginx:1.27", "IfNotPresent", id="another tag"),
        pytest.param("nginx:Latest", "IfNotPresent", id="tags are case sensitive"),
        pytest.param("registry:5000/nginx", "Always", id="a port is no tag"),
        pytest.param("registry:5000/team/nginx:2", "IfNotPresent", id="a port and a tag"),
        pytest.param("[::1]:5000/nginx", "Always", id="a registry by address"),
        pytest.param("Team/nginx", "Always", id="a registry in capitals"),
        pytest.param(f"nginx@{DIGEST}", "IfNotPresent", id="a digest"),
        pytest.param(f"nginx:latest@{DIGEST}", "Always", id="latest and a digest"),
        pytest.param("nginx:latest@sha256:beef", "IfNotPresent", id="a digest that is too short"),
        pytest.param("Nginx", "IfNotPresent", id="malformed, in capitals"),
        pytest.param("nginx:", "IfNotPresent", id="malformed, an empty tag"),
        pytest.param("", "IfNotPresent", id="no image"),
        pytest.param("a" * 247, "Always", id="as long as a repository may be in the library"),
        pytest.param("a" * 248, "IfNotPresent", id="longer than a repository may be"),
        pytest.param("registry.example.com/" + "a" * 255, "Always", id="the registry does not count"),
        pytest.param("folder/" + "a" * 249, "IfNotPresent", id="the folder does"),
        pytest.param("b" * 64, "IfNotPresent", id="an identifier"),
        pytest.param("a_b__c--d.e/f", "Always", id="all separators"),
    ],
)
def test_only_what_may_move_is_always_pulled(image, policy):
    assert default_pull_policy(image) == policy
