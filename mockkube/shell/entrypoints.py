"""Which containers have a command that can be read: asked of every container, so it loads nothing."""

from typing import Final

from mockkube.api.types import ReadOnlyObject

AGNHOST: Final = "agnhost"
PAUSE: Final = "/pause"


def has_command(container: ReadOnlyObject) -> bool:
    """Whether a container says what it does, or its image is known to."""
    return bool(container.get("command") or container.get("args") or entrypoint_of(container.get("image", "")))


def entrypoint_of(image: str) -> str:
    """Return the program an image starts; empty if nobody knows."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return {AGNHOST: AGNHOST, "pause": PAUSE}.get(name, "")
