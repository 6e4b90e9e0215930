"""Iterate over the containers of a pod."""

from collections.abc import Iterator
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject

CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


def all_containers(spec: ReadOnlyObject) -> Iterator[dict[str, Any]]:
    """Yield every container: init containers first, then regular, then ephemeral ones."""
    for kind in CONTAINER_LISTS:
        yield from spec.get(kind) or ()


def containers_with_paths(spec: ReadOnlyObject, at: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield every container with its field path."""
    for kind in CONTAINER_LISTS:
        for i, container in enumerate(spec.get(kind) or ()):
            yield container, f"{at}.{kind}[{i}]"
