"""Read and write objects of a cluster as its administrator, without HTTP: no fault applies, no request is recorded."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from mockkube.api.errors import Unavailable
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation, encoding, listing, patching
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.options import WriteOptions, parse_list_options
from mockkube.apiserver.registry.patching import Patch
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.watch_cache import CacheChange
from mockkube.client.identity import AUTHENTICATED, MASTERS
from mockkube.cluster.control_plane import ControlPlane
from mockkube.cluster.state.certificates import ADMIN
from mockkube.testing.errors import UnknownKindError

# Field manager and user agent of the fixture itself.
MANAGER: Final = "mockkube-testing"
_ADMINISTRATOR: Final = User(ADMIN, groups=(MASTERS, AUTHENTICATED))
# A manifest in a test states what a test needs, so it takes over the fields of others.
_APPLY_OPTIONS: Final = WriteOptions(field_manager=MANAGER, field_validation="Strict", force=True)
_CREATE_OPTIONS: Final = WriteOptions(field_manager=MANAGER, field_validation="Strict")


class ClusterObjects:
    """Objects of a cluster; its methods run in the cluster's event loop."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._control_plane = control_plane

    @property
    def _registry(self) -> Registry:
        servers = self._control_plane.component_controller.get_api_servers()
        if not servers:
            raise Unavailable("the API server does not run")
        return servers[0].registry

    def find_resource(self, name: str) -> Resource:
        """Return the resource of a name that kubectl accepts: `pod`, `deploy`, `deployments.apps`; or of a kind."""
        words = name.lower()
        for resource in self._registry.resources.values():
            if words in _list_names(resource):
                return resource
        raise UnknownKindError(f"the API server serves no kind {name!r}: is its CustomResourceDefinition applied?")

    def find_resource_of(self, obj: ReadOnlyObject) -> Resource:
        """Return the resource of an object's apiVersion and kind."""
        api_version, kind = obj["apiVersion"], obj["kind"]
        resource = self._registry.find_by_kind(api_version, kind)
        if resource is None:
            known = [one.api_version for one in self._registry.resources.values() if one.kind.kind == kind]
            hint = f"it serves {', '.join(known)}" if known else "apply its CustomResourceDefinition first"
            raise UnknownKindError(f"the API server serves no kind {kind!r} in {api_version}: {hint}")
        return resource

    async def write(self, obj: Object, namespace: str) -> Object:
        """Apply an object on the server side, or create it if its name is generated; return what is stored.

        `namespace` is that of objects without one.
        """
        resource = self.find_resource_of(obj)
        if resource.kind.namespaced:
            obj["metadata"].setdefault("namespace", namespace)
        name = obj["metadata"].get("name", "")
        scope = RequestScope(_ADMINISTRATOR, obj["metadata"].get("namespace", ""), name, user_agent=MANAGER)
        try:
            if name:
                patch = Patch(PatchType.APPLY, encoding.dumps(obj), obj)
                cached = (await patching.apply(resource, scope, patch, _APPLY_OPTIONS)).object
            else:
                decoded = resource.decode(obj, scope, _CREATE_OPTIONS.field_validation)
                cached = await creation.create(resource, scope, decoded, _CREATE_OPTIONS)
        except Exception as error:
            error.add_note(f"in the manifest of {obj['kind']} {name or obj['metadata']['generateName']}")
            raise
        (written,) = await _read_objects(resource, [cached])
        return written

    async def read(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """Return an object; None if it does not exist."""
        await resource.dependencies.watch_cache.wait_until_fresh()
        cached = resource.get_cached(namespace if resource.kind.namespaced else "", name)
        return None if cached is None else (await _read_objects(resource, [cached]))[0]

    async def select(self, resource: Resource, namespace: str, selector: str = "") -> list[Object]:
        """Return the objects of a namespace (empty: all) that have the labels."""
        options = parse_list_options({"labelSelector": (selector,)} if selector else {})
        page = await listing.list_page(resource, namespace if resource.kind.namespaced else "", options)
        return await _read_objects(resource, page.items)


async def _read_objects(resource: Resource, cached_objects: Sequence[CachedObject]) -> list[Object]:
    converted = await resource.convert_all_for_reading(cached_objects)
    return [resource.to_served_version(cached.load()) for cached in converted]


def _list_names(resource: Resource) -> tuple[str, ...]:
    kind = resource.kind
    names = (kind.plural, kind.singular or kind.kind.lower(), kind.kind.lower(), *kind.short_names)
    suffixes = ("", f".{kind.group}", f".{resource.version}.{kind.group}")
    return tuple(f"{name}{suffix}" for name in names for suffix in suffixes)


@contextmanager
def listening(resource: Resource, notify: Callable[[], None]) -> Iterator[None]:
    """Call a function after each change of an object of a resource, until the context is left."""

    def receive(_: CacheChange) -> None:
        notify()

    resource.collection.listeners[receive] = False
    try:
        yield
    finally:
        resource.collection.listeners.pop(receive, None)
