"""Custom resource: one version of a CRD, served like a built-in kind."""

from typing import Any

from mockkube.api.custom.codec import CustomCodec
from mockkube.api.custom.definition import CustomVersion, Definition
from mockkube.api.custom.metadata import Misread
from mockkube.api.documents import NO_DUPLICATES, DuplicateFields
from mockkube.api.errors import BadRequest, Forbidden
from mockkube.api.managed_fields.reach import EVERYTHING, Reach, reach
from mockkube.api.printers.custom import make_custom_printer
from mockkube.api.schema import Schema, TypeNode
from mockkube.api.types import Object
from mockkube.apiserver.custom.scaling import CustomScaling
from mockkube.apiserver.custom.strategy import CustomStrategy
from mockkube.apiserver.registry.admission import Operation, Plugin, Request
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.resource import (
    PATCHES,
    Call,
    Resource,
    Services,
    empties_managers,
    result_without_reason,
)
from mockkube.apiserver.registry.tracking import Trackers


class CustomTrackers(Trackers):
    """Managed-fields updaters of all versions of one CRD."""

    def __init__(self, definition: Definition, codec: CustomCodec) -> None:
        super().__init__(_Types(definition, codec), codec)
        self._definition = definition

    def reach(self, group: str, kind: str, api_version: str, subresource: str) -> Reach:
        """Return the fields that the resource writes, including the status if that is no subresource."""
        version = self._definition.of_api_version(api_version)
        if version is None or not version.has_status:
            return EVERYTHING
        return reach(group, kind, subresource, custom=True)


class _Types(Schema):
    """Schema of a server with the types of a CRD."""

    def __init__(self, definition: Definition, codec: CustomCodec) -> None:
        super().__init__(codec.schema.version)
        self._plain = codec.schema
        self._definition = definition
        self._codec = codec

    def find_kind_type(self, group: str, version: str, kind: str) -> TypeNode | None:
        """Return the type of the CRD's kind at a version; None for other kinds."""
        known = self._definition.versions.get(version)
        return self._codec.node_of(known) if known is not None and group == self._definition.group else None

    def get_type(self, definition: str) -> TypeNode:
        """Return a type of the server's schema."""
        return self._plain.get_type(definition)


class Ending(Plugin):
    """Rejects new objects while their CRD is being deleted."""

    name = "Ending"
    operations = (Operation.CREATE,)

    def admit(self, request: Request) -> None:
        """Reject the creation."""
        resource, why = request.resource, "create not allowed while custom resource definition is terminating"
        name = request.obj["metadata"].get("name", "") if request.obj is not None else ""
        raise Forbidden.for_object(resource.group, resource.plural, name, why)


class CustomResource(Resource):
    """One version of a CRD; `storage_resource` is its storage version."""

    open_kind = True
    whole_items = True
    patch_types = PATCHES[:3]

    def __init__(
        self, definition: Definition, version: CustomVersion, codec: CustomCodec, services: Services, *, ending: bool
    ) -> None:
        kind = definition.kind_of(version, ending=ending)
        strategy = CustomStrategy(definition, version)
        super().__init__(kind, version.name, codec.node_of(version), lambda: strategy, services)
        self.definition = definition
        self.custom_version = version
        self.ending = ending
        self.codec = codec
        if version.scale is not None:
            self.scaling = CustomScaling(definition, version.scale)
        self.default = lambda obj, caps: codec.default(obj)
        self.printer = make_custom_printer(version.columns)
        self.tag = f"{services.caps.version} {definition.digest}".encode()

    def etcd_key(self, namespace: str, name: str) -> str:
        """Return the key that upstream's API server names in error messages."""
        folder = f"/registry/{self.group}/{self.plural}"
        return f"{folder}/{namespace}/{name}" if self.kind.namespaced else f"{folder}/{name}"

    def revise(self, obj: Object) -> Object:
        """Decode an object that was stored under an older state of the CRD."""
        return self.revised(obj, self.custom_version)

    def revised(self, obj: Object, version: CustomVersion) -> Object:
        """Return the object decoded by this state of the CRD, in a version."""
        revised = super().revise(obj)
        revised["metadata"].setdefault("generation", 1)
        return self.codec.converted(revised, version)

    def reread(self, record: Record) -> Record:
        """Return a record that was read under another state of the CRD, decoded by this one."""
        return self.rewritten(record, self.revise(record.load()))

    def stored(self, obj: Object) -> Object:
        """Return the object in the storage version."""
        storage = self.home
        assert isinstance(storage, CustomResource)
        return obj if storage is self else self.codec.converted(obj, storage.custom_version)

    def served(self, obj: Object) -> Object:
        """Return a stored object in this version."""
        return obj if self.home is self else self.codec.converted(obj, self.custom_version)

    def unknown_fields(self, value: Any) -> list[str]:
        """Return the paths of fields that the schema does not have."""
        unknown: list[str] = []
        self.codec.read(value, unknown)
        return unknown

    def decode(self, value: Any, call: Call, validation: str, repeats: DuplicateFields = NO_DUPLICATES) -> Object:
        """Decode the value of a request; its apiVersion must be this one."""
        if not value.get("kind"):
            raise self._without_kind(value, validation)
        unknown: list[str] = []
        try:
            obj = self.codec.read(value, unknown)
        except Misread as error:
            raise BadRequest(self.cannot_handle(value, str(error))) from error
        if validation == "Strict" and (repeats or unknown):
            raise BadRequest(self.cannot_handle(value, f"strict decoding error: {repeats.join_errors(unknown)}"))
        if validation == "Warn":
            call.warn(repeats.list_errors(unknown))
        given = obj.get("apiVersion") or ""
        if given != self.api_version:
            expected = f"does not match the expected API version ({self.api_version})"
            raise BadRequest(f"the API version in the data ({given}) {expected}")
        call.forgets_managers = empties_managers(value)
        self.complete(obj)
        return obj

    def complete(self, obj: Object) -> None:
        """Set the defaults of a decoded object."""
        # kind and apiVersion are required in the body, other than for built-in kinds.
        self.codec.default(obj)

    def _without_kind(self, value: Object, validation: str) -> Exception:
        # upstream 1.36: apimachinery/pkg/runtime/serializer/json; strict decoding forgets what was asked for
        if validation != "Ignore":
            return result_without_reason(500, "Object 'Kind' is missing in 'unstructured object has no kind'")
        return BadRequest(self.cannot_handle({"kind": self.kind.kind}, "Object 'Kind' is missing"))
