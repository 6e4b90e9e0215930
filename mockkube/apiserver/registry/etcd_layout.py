"""Keys of objects in etcd: by group and plural as in any other store, or as the real API server has them.

upstream 1.36: pkg/kubeapiserver/default_storage_factory_builder.go
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

from mockkube.api.catalogue import KINDS
from mockkube.apiserver.registry.watch_cache import REGISTRY_PREFIX, SHARED_PREFIX

# Directories that are not named like their resource.
DIRECTORIES: Final[Mapping[str, str]] = {
    "endpoints": "services/endpoints",
    "ingresses": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
# Their servers put the group in front, as that of custom resources does.
_GROUPS_WITH_DIRECTORY: Final = ("apiextensions.k8s.io", "apiregistration.k8s.io")
_CORE: Final = "core"


@cache
def get_directory(group: str, plural: str) -> str:
    """Return the directory of a resource's objects in the etcd of a real API server; the core group is `core`."""
    directory = DIRECTORIES.get(plural, plural)
    # Custom resources have their group in front.
    return directory if _get_built_in_resources().get(directory) == (group, plural) else f"{group}/{plural}"


class GroupLayout:
    """Keys by group and plural, below the prefix in etcd: `/core/pods/default/a`."""

    def encode(self, key: str) -> str:
        """Return the path of a key."""
        if key.startswith(SHARED_PREFIX):
            return key
        assert key.startswith(REGISTRY_PREFIX), key
        return key[len(REGISTRY_PREFIX) - 1 :]

    def encode_prefix(self, prefix: str) -> str | None:
        """Return what the paths of exactly these keys begin with; None if there is nothing like that."""
        if not prefix.startswith((REGISTRY_PREFIX, SHARED_PREFIX)):
            return None
        path = self.encode(prefix)
        # The path of all objects is also a part of those of shared keys.
        return None if path != prefix and SHARED_PREFIX.startswith(path) else path

    def decode(self, path: str) -> str | None:
        """Return the key of a path; None if it is not one of the store."""
        if path.startswith(SHARED_PREFIX):
            return path
        return f"{REGISTRY_PREFIX}{path[1:]}" if path.startswith("/") else None


class KubernetesLayout(GroupLayout):
    """Keys as those of the real API server: `/pods/default/a`."""

    def encode(self, key: str) -> str:
        """Return the path of a key."""
        if key.startswith(SHARED_PREFIX):
            return key
        group, plural, name = key.removeprefix(REGISTRY_PREFIX).split("/", 2)
        return f"/{get_directory(group, plural)}/{name}"

    def encode_prefix(self, prefix: str) -> str | None:
        """Return what the paths of exactly these keys begin with; None if there is nothing like that."""
        if prefix.startswith(SHARED_PREFIX):
            return prefix
        rest = prefix.removeprefix(REGISTRY_PREFIX)
        # Less than the directory of one resource is scattered among those of others.
        return self.encode(prefix) if rest != prefix and rest.count("/") >= 2 else None

    def decode(self, path: str) -> str | None:
        """Return the key of a path; None if it is not one of the store."""
        if path.startswith(SHARED_PREFIX):
            return path
        first, _, rest = path.removeprefix("/").partition("/")
        if "." in first:
            return f"{REGISTRY_PREFIX}{first}/{rest}"
        if first == "services":
            second, _, rest = rest.partition("/")
            first = f"{first}/{second}"
        resource = _get_built_in_resources().get(first)
        return f"{REGISTRY_PREFIX}{resource[0]}/{resource[1]}/{rest}" if resource and rest else None


@cache
def _get_built_in_resources() -> Mapping[str, tuple[str, str]]:
    """Return group and plural by directory, of the resources whose directory does not begin with their group."""
    return {
        DIRECTORIES.get(kind.plural, kind.plural): (kind.group or _CORE, kind.plural)
        for kind in KINDS
        if kind.group not in _GROUPS_WITH_DIRECTORY and kind.stored_as is None
    }
