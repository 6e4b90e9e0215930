"""ImageLocality plugin: prefer nodes that have the pod's images already.

Larger images, and images that more nodes have, count more.

upstream 1.36: pkg/scheduler/framework/plugins/imagelocality/image_locality.go
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.versions import Version
from mockkube.scheduler.framework.interface import (
    SCORE_MAX,
    CycleState,
    PluginDependencies,
    PreScorePlugin,
    ScorePlugin,
    StateKey,
)
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Status

_MIB: Final = 1024 * 1024
_BYTES_MIN: Final = 23 * _MIB
_BYTES_PER_IMAGE_MAX: Final = 1000 * _MIB
# From this version on images mounted as volumes count.
_VOLUMES_SINCE: Final = Version(1, 36)
# From this version on they also count in the number of images that bounds the score.
_VOLUMES_RAISE_BOUND_SINCE: Final = Version(1, 37)


class _PodImages(NamedTuple):
    images: tuple[str, ...]
    bounding_count: int
    """Number of images that bounds the score."""


class _ImageShares(NamedTuple):
    shares: tuple[tuple[str, float], ...]
    """Images that some node has, with the share of nodes that have them."""
    bytes_max: int


_STATE: Final = StateKey[_ImageShares]("ImageLocality")


class ImageLocality(PreScorePlugin, ScorePlugin):
    """Scores nodes by the bytes of the pod's images that they have."""

    name = "ImageLocality"

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        self._nodes = dependencies.nodes
        self._counts_volumes = dependencies.caps.version >= _VOLUMES_SINCE
        self._volumes_raise_bound = dependencies.caps.version >= _VOLUMES_RAISE_BOUND_SINCE

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        """Compute how many nodes have each image; skip pods whose images no node has."""
        # differs: upstream scores each node 0 instead; the sums are the same
        wanted = pod.derive_from_spec(self, self._pod_images)
        spread = [(image, self._nodes.count_nodes_with_image(image)) for image in wanted.images]
        total = len(self._nodes.all)
        shares = tuple((image, count / total) for image, count in spread if count)
        if not shares:
            return SKIP
        state.put(_STATE, _ImageShares(shares, _BYTES_PER_IMAGE_MAX * wanted.bounding_count))
        return SUCCESS

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the position of the bytes between lower and upper bound."""
        spread = state.get(_STATE)
        assert spread is not None
        sizes = node.derive_from_object(ImageLocality, _image_sizes)
        # upstream: scaled by the share of nodes, so that a rare image does not attract all pods to one node.
        bytes_present = sum(int(sizes[image] * share) for image, share in spread.shares if image in sizes)
        bytes_present = min(max(bytes_present, _BYTES_MIN), spread.bytes_max)
        return SCORE_MAX * (bytes_present - _BYTES_MIN) // (spread.bytes_max - _BYTES_MIN)

    def _pod_images(self, spec: ReadOnlyObject) -> _PodImages:
        images = [*_container_images(spec)]
        volumes = [*_volume_images(spec)] if self._counts_volumes else []
        count = len(images) + (len(volumes) if self._volumes_raise_bound else 0)
        return _PodImages(tuple(_normalized_name(name) for name in (*images, *volumes)), count)


def _container_images(spec: ReadOnlyObject) -> Iterator[str]:
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        yield container.get("image", "")


def _volume_images(spec: ReadOnlyObject) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        if "image" in volume:
            yield volume["image"].get("reference", "")


def _normalized_name(image: str) -> str:
    """Return the image name as nodes report it, with the tag `latest` if it has none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def _image_sizes(node: NodeInfo) -> Mapping[str, int]:
    images = (node.obj.get("status") or {}).get("images") or ()
    return {name: image.get("sizeBytes", 0) for image in images for name in image.get("names") or ()}
