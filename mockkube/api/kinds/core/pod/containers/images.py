"""Derive the image pull policy from an image name."""

import re
from functools import lru_cache
from typing import Final

# Grammar of image references. upstream 1.36: pkg/util/parsers/parsers.go
_HOST_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST: Final = rf"(?:{_HOST_LABEL}(?:\.{_HOST_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_COMPONENT: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGEST: Final = r"sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}"
_REFERENCE: Final = re.compile(
    rf"(?P<name>(?:{_HOST}/)?{_PATH_COMPONENT}(?:/{_PATH_COMPONENT})*)(?::(?P<tag>\w[\w.-]{{0,127}}))?(?:@(?P<digest>{_DIGEST}))?",
    re.ASCII,
)
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")
_REGISTRY_HOST: Final = re.compile(r"localhost|.*[.:A-Z].*")
_PATH_LENGTH_MAX: Final = 255


@lru_cache(maxsize=4096)
def default_pull_policy(image: str) -> str:
    """Return Always for images with tag latest or without tag and digest."""
    reference = _REFERENCE.fullmatch(image)
    # A name that cannot be parsed has no tag "latest"; validation does not reject it, the kubelet does.
    if reference is None or _IDENTIFIER.fullmatch(image) or len(_repository_path(reference["name"])) > _PATH_LENGTH_MAX:
        return "IfNotPresent"
    floats = reference["tag"] == "latest" or (reference["tag"] is None and reference["digest"] is None)
    return "Always" if floats else "IfNotPresent"


def _repository_path(name: str) -> str:
    """Return the repository path, with Docker's default namespace."""
    host, _, rest = name.partition("/")
    if rest and _REGISTRY_HOST.fullmatch(host):
        return rest
    return name if rest else f"library/{name}"
