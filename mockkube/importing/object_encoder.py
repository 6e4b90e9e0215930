"""Encoder of imported objects: finds key and storage version, and writes bytes as an API server stores them.

The schema of the source version decodes each object, so that unknown fields are dropped, as by that server.
Nothing else of a creation happens: uid, creationTimestamp, generation and status stay.
"""

from typing import Final

from mockkube_storage.engines.memory import MemoryStore

from mockkube.api.decoding.codec import DecodingError, DecodingState
from mockkube.api.decoding.decoding_errors import find_decoding_error
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.printers.accessors import string
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.runtime_config import RuntimeConfig
from mockkube.apiserver.server import ApiServer, ApiServerOptions
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock

KEY_PREFIX: Final = "/registry/"


class NotImportableError(Exception):
    """Error: an object cannot be stored; the text is the reason."""


@dataclass(frozen=True, slots=True)
class EncodedObject:
    """Stored form of an object."""

    key: str
    value: bytes
    # Fields that the source version does not have.
    unknown_fields: tuple[str, ...] = ()


class ObjectEncoder:
    """Encoder for the API server of one version."""

    def __init__(self, capabilities: Capabilities) -> None:
        # An API server that never starts: its registry knows kinds, schemas and storage versions.
        self._registry = make_registry(capabilities)
        self._resources = {(one.api_version, one.kind.kind): one for one in self._registry.resources.values()}
        self._custom: dict[tuple[str, str], tuple[ReadOnlyObject, str, str]] = {}

    def add_crd(self, crd: ReadOnlyObject) -> None:
        """Accept the custom resources of a CRD; raise NotImportableError."""
        if not self.supports(crd):
            raise NotImportableError(f"there is no {crd['apiVersion']} of CRDs")
        self.encode(crd)
        spec = crd.get("spec") or {}
        versions = [string(one or {}, "name") for one in spec.get("versions") or ()]
        names = spec.get("names") or {}
        if not all((spec.get("group"), names.get("kind"), names.get("plural"), spec.get("scope"), versions, *versions)):
            raise NotImportableError("spec must have group, names, scope and versions with names")
        storage = next((one["name"] for one in spec["versions"] if one.get("storage")), versions[0])
        for version in spec["versions"]:
            found = (crd, version["name"], f"{spec['group']}/{storage}")
            self._custom[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = found

    def supports(self, obj: ReadOnlyObject) -> bool:
        """Return whether objects of this kind can be stored."""
        kind = (obj["apiVersion"], obj["kind"])
        return kind in self._resources or kind in self._custom

    def is_namespaced(self, obj: ReadOnlyObject) -> bool:
        """Return whether objects of a supported kind are in a namespace."""
        kind = (obj["apiVersion"], obj["kind"])
        if (resource := self._resources.get(kind)) is not None:
            return bool(resource.storage_resource.kind.namespaced)
        return bool(self._custom[kind][0]["spec"]["scope"] == "Namespaced")

    def encode(self, obj: ReadOnlyObject) -> EncodedObject:
        """Encode an object; raise NotImportableError."""
        resource = self._resources.get((obj["apiVersion"], obj["kind"]))
        return self._encode_custom(obj) if resource is None else self._encode_built_in(resource, obj)

    def _encode_built_in(self, resource: Resource, obj: ReadOnlyObject) -> EncodedObject:
        found = DecodingState()
        try:
            decoded: Object = self._registry.dependencies.codec.decode(resource.node, obj, found)
        except DecodingError:
            raise NotImportableError(find_decoding_error(resource.node, obj)) from None
        unknown = tuple(resource.find_unknown_fields(obj)) if found.has_unknown_fields else ()
        resource.complete(decoded)
        stored = resource.to_storage_version(decoded)
        metadata = stored["metadata"]
        storage_resource = resource.storage_resource
        namespaced = storage_resource.kind.namespaced
        key = storage_resource.key(metadata.get("namespace") or ("default" if namespaced else ""), metadata["name"])
        return EncodedObject(key, encoding.encode_stored(stored, storage_resource.tag), unknown)

    def _encode_custom(self, obj: ReadOnlyObject) -> EncodedObject:
        crd, _, api_version = self._custom[obj["apiVersion"], obj["kind"]]
        spec, metadata = crd["spec"], obj["metadata"]
        path = [spec["group"], spec["names"]["plural"]]
        if spec["scope"] == "Namespaced":
            path.append(metadata.get("namespace") or "default")
        key = KEY_PREFIX + "/".join([*path, metadata["name"]])
        # The tag of no version: a server decodes it by the CRD when it starts.
        return EncodedObject(key, encoding.encode_stored({**obj, "apiVersion": api_version}, b""))


def make_registry(capabilities: Capabilities) -> Registry:
    """Return the registry of an API server with all versions of all APIs, without a store."""
    options = ApiServerOptions(
        Authenticator({}),
        caps=capabilities,
        trains=capabilities.trains,
        runtime_config=RuntimeConfig({"api/all": True}),
    )
    server = ApiServer(store=MemoryStore(), options=options, clock=VirtualClock(), random=Random.from_seed(0, "import"))
    return server.registry
