"""Images of a node as its status lists them: those that its containers started from.

upstream 1.36: pkg/kubelet/nodestatus/setters.go (Images)
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from mockkube.api.types import Object, ReadOnlyObject

# A node status lists at most this many images, the largest ones (upstream: nodeStatusMaxImages).
IMAGES_MAX: Final = 50
_SIZE_MIN: Final = 5 * 1024**2
_SIZE_RANGE: Final = 250 * 1024**2


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


@lru_cache(maxsize=1024)
def _make_image_entry(image: str) -> Object:
    """Return an image as node statuses list it; the size is derived from the name."""
    repository, rest = split_image(image)
    by_digest = image_id(image)
    size = _SIZE_MIN + int(make_digest(image)[:12], 16) % _SIZE_RANGE
    return {"names": [by_digest] if rest.startswith("@") else [by_digest, f"{repository}{rest}"], "sizeBytes": size}
