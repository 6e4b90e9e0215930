"""Images: their names, and the list of those a node has."""

import pytest

from mockkube.kubelet.containers.images import (
    IMAGES_MAX,
    add_images,
    find_pull_error,
    image_id,
    is_missing,
    parse_patterns,
    split_image,
)


@pytest.mark.parametrize(
    ("image", "repository", "rest"),
    [
        pytest.param("nginx", "docker.io/library/nginx", ":latest", id="a short name"),
        pytest.param("nginx:1.29", "docker.io/library/nginx", ":1.29", id="a tag"),
        pytest.param("acme/app", "docker.io/acme/app", ":latest", id="a user's"),
        pytest.param("quay.io/acme/app:1", "quay.io/acme/app", ":1", id="a registry"),
        pytest.param("localhost/app", "localhost/app", ":latest", id="this machine"),
        pytest.param("host:5000/app", "host:5000/app", ":latest", id="a port is no tag"),
        pytest.param("app:1@sha256:ab", "docker.io/library/app", "@sha256:ab", id="a digest"),
    ],
)
def test_an_image_has_its_whole_name(image, repository, rest):
    assert split_image(image) == (repository, rest)


def test_the_same_image_has_the_same_digest():
    assert image_id("nginx") == image_id("nginx")
    assert image_id("nginx") != image_id("nginx:1.29")
    assert image_id("a@sha256:ab") == "docker.io/library/a@sha256:ab"


def test_images_are_listed_once():
    listed = add_images([], ["nginx", "nginx:1.29"])
    assert listed is not None
    assert len(listed) == 2
    assert add_images(listed, ["nginx"]) is None


def test_only_so_many_are_listed_the_largest():
    listed = add_images([], [f"app-{number}" for number in range(100)])
    assert listed is not None
    sizes = [entry["sizeBytes"] for entry in listed]
    assert len(sizes) == IMAGES_MAX
    assert sizes == sorted(sizes, reverse=True)
    assert add_images(listed, [f"app-{number}" for number in range(100)]) is None


@pytest.mark.parametrize(
    ("image", "missing"),
    [
        pytest.param("nginx", False, id="a short name"),
        pytest.param("foo:non-existent", True, id="a tag"),
        pytest.param("webserver:404", True, id="a status code as tag"),
        pytest.param("nginx:1.404", False, id="a tag that contains it"),
        pytest.param("invalid.registry.k8s.io/invalid/alpine:3.1", True, id="a registry"),
        pytest.param("registry.invalid/app", True, id="a reserved domain"),
        pytest.param("k8s.gcr.io/invalid-image", True, id="a repository"),
        pytest.param("no-such-registry/no-such-image", True, id="no such thing"),
        pytest.param("acme/validator:invalidated", False, id="words that only look alike"),
        pytest.param("ghcr.io/acme/does-not-exist@sha256:" + "0" * 64, True, id="a digest"),
    ],
)
def test_a_name_says_that_there_is_no_such_image(image: str, missing: bool) -> None:
    assert is_missing(image) is missing


@pytest.mark.parametrize(
    ("image", "policy", "reason", "message"),
    [
        pytest.param("foo:404", "Always", "ErrImagePull", "docker.io/library/foo:404: not found", id="pulled"),
        pytest.param("foo:404", "Never", "ErrImageNeverPull", "with pull policy of Never", id="never pulled"),
        pytest.param("Not An Image", "Always", "InvalidImageName", "invalid reference format", id="no image name"),
        pytest.param("example.com/team/app:2", "Always", "ErrImagePull", "not found", id="a pattern of the node"),
    ],
)
def test_an_image_that_cannot_be_pulled_has_a_reason(image: str, policy: str, reason: str, message: str) -> None:
    node = {"metadata": {"annotations": {"mockkube.dev/unpullable-images": "example.com/*, *:broken"}}}
    error = find_pull_error(image, policy, parse_patterns(node))
    assert error is not None
    assert (error.reason, message in error.message) == (reason, True)


def test_other_images_can_be_pulled() -> None:
    assert find_pull_error("example.com/team/app:2", "Always") is None
