"""Objects that have metrics in annotations, read from the watch cache."""

from collections.abc import Iterator
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.api.selectors.labels import LabelSelector
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Resource
from mockkube.matching.usage.metric_annotations import list_metrics


class AnnotatedObjects:
    """Finds objects with annotations of a prefix, without decoding the others."""

    def __init__(self, registry: Registry, prefix: str) -> None:
        self._registry, self._prefix = registry, prefix
        self._marker: Final = prefix.encode()
        # Names of metrics by resource, with the revision of its collection.
        self._names: dict[str, tuple[int, list[str]]] = {}

    def find_resource(self, name: str) -> Resource | None:
        """Return the resource of a name as in paths of metrics: `pods`, `deployments.apps`."""
        plural, _, group = name.partition(".")
        return self._registry.find_storage_resource(group, plural)

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """Return an object with an annotation of the prefix."""
        cached = resource.get_cached(namespace if resource.kind.namespaced else "", name)
        return None if cached is None else self._load(cached)

    def select(self, resource: Resource, namespace: str, labels: LabelSelector) -> Iterator[Object]:
        """Yield the selected objects with an annotation of the prefix, in the order of their keys."""
        for cached in sorted(resource.collection.objects.values(), key=lambda one: one.key):
            if namespace in ("", cached.namespace) and labels.matches(cached.labels):
                obj = self._load(cached)
                if obj is not None:
                    yield obj

    def _load(self, cached: CachedObject) -> Object | None:
        return cached.load() if self._marker in cached.body else None

    def list_names(self) -> dict[str, list[str]]:
        """Return the names of metrics by resource (`pods`, `deployments.apps`), without resources that have none."""
        known = {}
        for group, plural, count in self._registry.count_objects():
            resource = self._registry.find_storage_resource(group, plural)
            if count and resource is not None and (names := self.list_names_of(resource)):
                known[f"{plural}.{group}" if group else plural] = names
        return known

    def list_names_of(self, resource: Resource) -> list[str]:
        """Return the names of metrics that objects of a resource have."""
        collection = resource.collection
        revision, names = self._names.get(collection.prefix, (-1, []))
        if revision != collection.revision:
            loaded = (self._load(cached) for cached in collection.objects.values())
            names = sorted({name for obj in loaded if obj is not None for name, _ in list_metrics(obj, self._prefix)})
            self._names[collection.prefix] = collection.revision, names
        return names
