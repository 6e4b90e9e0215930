"""Images: their names, and the list of those a node has."""

import pytest

from mockkube.kubelet.containers.images import IMAGES_MAX, add_images, image_id, split_image


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
