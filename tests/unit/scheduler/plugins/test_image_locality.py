from typing import Any

import pytest

from mockkube.scheduler.plugins.image_locality import ImageLocality

_MIB = 1024 * 1024


def _has(size_mib: int, *names: str) -> dict[str, Any]:
    return {"images": [{"names": list(names), "sizeBytes": size_mib * _MIB}], "allocatable": {}}


def _runs(*images: str) -> list[dict[str, str]]:
    return [{"name": f"c{at}", "image": image} for at, image in enumerate(images)]


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        pytest.param(["app:v1"], 48, id="half of the nodes have it: half of its size counts"),
        pytest.param(["app"], 48, id="without a tag it is the latest"),
        pytest.param(["app:v1", "other:v1"], 23, id="of two images one"),
        pytest.param(["host:5000/app"], 48, id="a port is no tag"),
    ],
)
def test_nodes_rank_by_the_bytes_that_are_there(world, images, expected) -> None:
    world.node("with", status=_has(988, "app:v1", "app:latest", "host:5000/app:latest"))
    world.node("without")
    scores = world.scores(world.build(ImageLocality), world.pod(containers=_runs(*images)))
    assert scores == {"with": expected, "without": 0}


def test_small_images_count_for_nothing_and_large_ones_for_all(world) -> None:
    world.node("large", status=_has(9000, "large:v1"))
    world.node("small", status=_has(23, "small:v1"))
    plugin = world.build(ImageLocality)
    assert world.scores(plugin, world.pod(containers=_runs("large:v1"))) == {"large": 100, "small": 0}
    assert world.scores(plugin, world.pod(containers=_runs("small:v1"))) == {"large": 0, "small": 0}


def test_a_pod_whose_images_are_nowhere_is_left_alone(world) -> None:
    world.node("n1", status=_has(500, "other:v1"))
    assert world.scores(world.build(ImageLocality), world.pod(containers=_runs("app:v1"))) == {}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("1.35", {}, id="not looked at"),
        pytest.param("1.36", {"n1": 48}, id="counted among those that are there"),
        pytest.param("1.37", {"n1": 24}, id="and among those that could be there"),
    ],
)
def test_images_mounted_as_volumes_count_by_version(worlds, version, expected) -> None:
    world = worlds(version)
    world.node("n1", status=_has(500, "data:v1"))
    pod = world.pod(containers=_runs("app:v1"), volumes=[{"name": "v", "image": {"reference": "data:v1"}}])
    assert world.scores(world.build(ImageLocality), pod) == expected
