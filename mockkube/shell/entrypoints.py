"""Containers whose command can be interpreted. It is called for every container, so it imports nothing heavy."""

from typing import Final

from mockkube.api.types import ReadOnlyObject

AGNHOST: Final = "agnhost"
PAUSE: Final = "/pause"


def has_command(container: ReadOnlyObject) -> bool:
    """Return whether a container has a command, or an image with a known one."""
    return bool(container.get("command") or container.get("args") or find_entrypoint(container.get("image", "")))


def find_entrypoint(image: str) -> str:
    """Return the program that a known image starts, else an empty text."""
    # Digest, registry and tag are cut off in this order: a registry may have a port, a digest contains a colon.
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return {AGNHOST: AGNHOST, "pause": PAUSE}.get(name, "")
