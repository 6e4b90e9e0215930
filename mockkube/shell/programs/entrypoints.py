"""Images whose behavior is known. It is called for every container, so it imports nothing heavy."""

from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.machine.file_system import UNKNOWN

AGNHOST: Final = "agnhost"
PAUSE: Final = "/pause"


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """Configuration of an image: program, default arguments, user; without a program, what it runs is not known."""

    entrypoint: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    uid: int = 0
    gid: int = 0
    is_user_known: bool = False
    working_directory: str = ""
    """Empty if it is not known."""
    files: tuple[tuple[str, str], ...] = ()
    """Paths and texts of files that are known to be in the image."""


_OS_RELEASE: Final = 'NAME="Alpine Linux"\nID=alpine\n'
_UNKNOWN_IMAGE: Final = ImageConfig()


def _picture_server(name: str) -> ImageConfig:
    """Return the configuration of an image of upstream's update demo, which serves one picture."""
    return ImageConfig(
        (AGNHOST,),
        ("test-webserver",),
        is_user_known=True,
        working_directory="/",
        files=(
            (f"/{name}.jpg", UNKNOWN),
            ("/data.json", f'{{\n  "image": "{name}.jpg"\n}}\n'),
            ("/etc/os-release", _OS_RELEASE),
        ),
    )


# By the last part of the name.
_IMAGES: Final = {
    AGNHOST: ImageConfig(
        (AGNHOST,),
        ("pause",),
        is_user_known=True,
        working_directory="/",
        files=(("/localhost.crt", UNKNOWN), ("/localhost.key", UNKNOWN)),
    ),
    "busybox": ImageConfig(is_user_known=True, working_directory="/"),
    "pause": ImageConfig((PAUSE,), uid=65535, gid=65535, is_user_known=True),
    "httpd": ImageConfig(
        files=(("/usr/local/apache2/htdocs/index.html", "<html><body><h1>It works!</h1></body></html>\n"),)
    ),
    "kitten": _picture_server("kitten"),
    "nautilus": _picture_server("nautilus"),
    "nonewprivs": ImageConfig(("nnp",), is_user_known=True, working_directory="/"),
    "nonroot": ImageConfig(uid=1234, is_user_known=True),
}


def has_command(container: ReadOnlyObject) -> bool:
    """Return whether a container has a command, or an image with a known one."""
    return bool(container.get("command") or container.get("args") or find_image(container.get("image", "")).entrypoint)


def find_image(image: str) -> ImageConfig:
    """Return the configuration of a known image, else an empty one."""
    return _IMAGES.get(short_name(image), _UNKNOWN_IMAGE)


def short_name(image: str) -> str:
    """Return the last part of the name of an image, without tag and digest."""
    # Digest, registry and tag are cut off in this order: a registry may have a port, a digest contains a colon.
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]
