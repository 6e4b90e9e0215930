"""Images: which ones can be pulled, and those of a node as its status lists them.

upstream 1.36: pkg/kubelet/images/image_manager.go, pkg/kubelet/nodestatus/setters.go (Images)
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

# A node status lists at most this many images, the largest ones (upstream: nodeStatusMaxImages).
IMAGES_MAX: Final = 50
_SIZE_MIN: Final = 5 * 1024**2
_SIZE_RANGE: Final = 250 * 1024**2
# Annotation of a node: patterns of images that its kubelet cannot pull, beside those whose names say so.
UNPULLABLE_IMAGES: Final = "mockkube.dev/unpullable-images"
# A part of a name (a label of the registry, a part of the path, the tag) that says that there is no such image.
_MISSING_PART: Final = re.compile(
    r"invalid|invalid-(?:image|registry|tag|name)|404|no-such-[a-z-]+|(?:[a-z]+-)?(?:non-?existent|nonexisting|does-?not-?exist)(?:-[a-z]+)*"
)
_REFERENCE: Final = re.compile(r"[\w.:-]+(?:/[a-z0-9._-]+)*(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?", re.ASCII)


def split_image(image: str) -> tuple[str, str]:
    """Split an image into repository with registry, and tag or digest (`:latest` by default)."""
    name, at, digest = image.partition("@")
    last = name.rpartition("/")[2]
    repository = name[: len(name) - len(last)] + last.partition(":")[0]
    tag = last.partition(":")[2]
    first = repository.partition("/")[0]
    if "/" not in repository:
        repository = f"docker.io/library/{repository}"
    elif "." not in first and ":" not in first and first != "localhost":
        repository = f"docker.io/{repository}"
    return repository, f"@{digest}" if at else f":{tag or 'latest'}"


def image_id(image: str) -> str:
    """Return an image by digest, the same for the same name."""
    repository, rest = split_image(image)
    return f"{repository}{rest}" if rest.startswith("@") else f"{repository}@sha256:{make_digest(image)}"


@dataclass(frozen=True, slots=True)
class ImagePullError:
    """Reason and message of an image that cannot be pulled, as a waiting container shows them."""

    reason: str
    message: str


def find_pull_error(
    image: str, policy: str, patterns: Sequence[str] = (), *, missing: bool = False
) -> ImagePullError | None:
    """Return why an image cannot be pulled, None if it can; `missing`: the pod says that it does not exist."""
    if not _REFERENCE.fullmatch(image):
        problem = f'couldn\'t parse image name "{image}": invalid reference format'
        return ImagePullError("InvalidImageName", f'Failed to apply default image tag "{image}": {problem}')
    if not missing and not is_missing(image) and not any(fnmatchcase(image, pattern) for pattern in patterns):
        return None
    if policy == "Never":
        return ImagePullError(
            "ErrImageNeverPull", f'Container image "{image}" is not present with pull policy of Never'
        )
    repository, rest = split_image(image)
    name = f"{repository}{rest}"
    return ImagePullError(
        "ErrImagePull",
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{name}": '
        f'failed to resolve reference "{name}": {name}: not found',
    )


@lru_cache(maxsize=1024)
def is_missing(image: str) -> bool:
    """Return whether the name of an image says that there is none: `foo:non-existent`, `invalid.registry/image`."""
    repository, rest = split_image(image)
    registry, _, path = repository.partition("/")
    parts = (*registry.partition(":")[0].split("."), *path.split("/"), rest[1:])
    return any(_MISSING_PART.fullmatch(part) for part in parts)


def parse_patterns(node: ReadOnlyObject) -> tuple[str, ...]:
    """Return the patterns of images that the kubelet of a node cannot pull."""
    text: str = (node["metadata"].get("annotations") or {}).get(UNPULLABLE_IMAGES) or ""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def make_digest(text: str) -> str:
    """Return a SHA-256 digest of a name, in place of a content digest."""
    return hashlib.sha256(text.encode()).hexdigest()


def add_images(present: Iterable[ReadOnlyObject], pulled: Iterable[str]) -> list[ReadOnlyObject] | None:
    """Return a node's image list including newly pulled images; None if nothing changes."""
    known = list(present)
    names = {name for entry in known for name in entry.get("names") or ()}
    fresh = [entry for image in pulled if (entry := _make_image_entry(image))["names"][0] not in names]
    if not fresh:
        return None
    # A new image too small for the list causes no write of the node status.
    largest = sorted([*known, *fresh], key=lambda entry: -entry.get("sizeBytes", 0))[:IMAGES_MAX]
    return largest if any(entry in largest for entry in fresh) else None


def get_image_size(image: str) -> int:
    """Return the size of an image in bytes."""
    return int(_make_image_entry(image)["sizeBytes"])


@lru_cache(maxsize=1024)
def _make_image_entry(image: str) -> Object:
    """Return an image as node statuses list it; the size is derived from the name."""
    repository, rest = split_image(image)
    by_digest = image_id(image)
    size = _SIZE_MIN + int(make_digest(image)[:12], 16) % _SIZE_RANGE
    return {"names": [by_digest] if rest.startswith("@") else [by_digest, f"{repository}{rest}"], "sizeBytes": size}
