"""Custom resource: one version of a CRD, served like a built-in kind."""

from typing import Any

from mockkube.api.custom.codec import CustomResourceCodec
from mockkube.api.custom.crd import Crd, CrdVersion
from mockkube.api.custom.metadata import MetadataTypeError
from mockkube.api.decoding.documents import NO_DUPLICATES, DuplicateFields
from mockkube.api.errors import BadRequest, Forbidden
from mockkube.api.json_objects import Object
from mockkube.api.managed_fields.reset_fields import ALL_FIELDS, FieldFilter, get_field_filter
from mockkube.api.managed_fields.types import TypeCompiler
from mockkube.api.printers.custom import make_custom_printer
from mockkube.api.schema import Schema, TypeNode
from mockkube.apiserver.custom.scale_mapper import CustomScaleMapper
from mockkube.apiserver.custom.strategy import CustomResourceStrategy
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.managed_fields import ManagedFieldsUpdaters
from mockkube.apiserver.registry.resource import (
    PATCH_TYPES,
    RegistryDependencies,
    RequestScope,
    Resource,
    error_without_reason,
    resets_managed_fields,
)


class CrdFieldsUpdaters(ManagedFieldsUpdaters):
    """Managed-fields updaters of all versions of one CRD."""

    def __init__(self, crd: Crd, codec: CustomResourceCodec) -> None:
        super().__init__(_CrdSchema(crd, codec), codec, TypeCompiler())
        self._crd = crd

    def writable_fields(self, group: str, kind: str, api_version: str, subresource: str) -> FieldFilter:
        """Return the fields that the resource writes, including the status if that is no subresource."""
        version = self._crd.get_version(api_version)
        if version is None or not version.has_status:
            return ALL_FIELDS
        return get_field_filter(group, kind, subresource, custom=True)


class _CrdSchema(Schema):
    """Schema of a server with the types of a CRD."""

    def __init__(self, crd: Crd, codec: CustomResourceCodec) -> None:
        super().__init__(codec.schema.version)
        self._server_schema = codec.schema
        self._crd = crd
        self._codec = codec

    def find_kind_type(self, group: str, version: str, kind: str) -> TypeNode | None:
        """Return the type of the CRD's kind at a version; None for other kinds."""
        known = self._crd.versions.get(version)
        return self._codec.get_node(known) if known is not None and group == self._crd.group else None

    def get_type(self, definition: str) -> TypeNode:
        """Return a type of the server's schema."""
        return self._server_schema.get_type(definition)


class CrdTerminating(AdmissionPlugin):
    """Rejects new objects while their CRD is being deleted."""

    name = "CrdTerminating"
    operations = (Operation.CREATE,)

    def admit(self, request: AdmissionAttributes) -> None:
        """Reject the creation."""
        resource, why = request.resource, "create not allowed while custom resource definition is terminating"
        name = request.obj["metadata"].get("name", "") if request.obj is not None else ""
        raise Forbidden.for_object(resource.group, resource.plural, name, why)


class CustomResource(Resource):
    """One version of a CRD; `storage_resource` is its storage version."""

    accepts_other_kinds = True
    items_have_kind = True
    patch_types = PATCH_TYPES[:3]

    def __init__(
        self,
        crd: Crd,
        version: CrdVersion,
        codec: CustomResourceCodec,
        dependencies: RegistryDependencies,
        *,
        is_terminating: bool,
    ) -> None:
        kind = crd.to_kind_info(version, is_terminating=is_terminating)
        strategy = CustomResourceStrategy(crd, version)
        super().__init__(kind, version.name, lambda: codec.get_node(version), lambda: strategy, dependencies)
        self.crd = crd
        self.custom_version = version
        self.is_terminating = is_terminating
        self.codec = codec
        if version.scale_paths is not None:
            self.scale_mapper = CustomScaleMapper(crd, version.scale_paths)
        self.set_defaults = lambda obj, caps: codec.set_defaults(obj)
        self.printer = make_custom_printer(version.columns)
        self.tag = f"{dependencies.capabilities.version} {crd.digest}".encode()

    def etcd_key(self, namespace: str, name: str) -> str:
        """Return the key that upstream's API server names in error messages."""
        folder = f"/registry/{self.group}/{self.plural}"
        return f"{folder}/{namespace}/{name}" if self.kind.namespaced else f"{folder}/{name}"

    def decode_foreign(self, obj: Object) -> Object:
        """Decode an object that was stored under an older state of the CRD."""
        return self.decode_as(obj, self.custom_version)

    def decode_as(self, obj: Object, version: CrdVersion) -> Object:
        """Return the object decoded by this state of the CRD, in a version."""
        revised = super().decode_foreign(obj)
        revised["metadata"].setdefault("generation", 1)
        return self.codec.to_version(revised, version)

    def recode(self, cached: CachedObject) -> CachedObject:
        """Return an object that was read under another state of the CRD, decoded by this one."""
        return self.with_object(cached, self.decode_foreign(cached.load()))

    def to_storage_version(self, obj: Object) -> Object:
        """Return the object in the storage version."""
        storage_resource = self.storage_resource
        assert isinstance(storage_resource, CustomResource)
        return obj if storage_resource is self else self.codec.to_version(obj, storage_resource.custom_version)

    def to_served_version(self, obj: Object) -> Object:
        """Return a stored object in this version."""
        return obj if self.storage_resource is self else self.codec.to_version(obj, self.custom_version)

    def find_unknown_fields(self, value: Any) -> list[str]:
        """Return the paths of fields that the schema does not have."""
        unknown: list[str] = []
        self.codec.prune(value, unknown)
        return unknown

    def decode(
        self, value: Any, scope: RequestScope, validation: str, duplicates: DuplicateFields = NO_DUPLICATES
    ) -> Object:
        """Decode the value of a request; its apiVersion must be this one."""
        if not value.get("kind"):
            raise self._missing_kind_error(value, validation)
        unknown: list[str] = []
        try:
            obj = self.codec.prune(value, unknown)
        except MetadataTypeError as error:
            raise BadRequest(self.cannot_handle_message(value, str(error))) from error
        if validation == "Strict" and (duplicates or unknown):
            raise BadRequest(
                self.cannot_handle_message(value, f"strict decoding error: {duplicates.join_errors(unknown)}")
            )
        if validation == "Warn":
            scope.warn(duplicates.list_errors(unknown))
        given = obj.get("apiVersion") or ""
        if given != self.api_version:
            expected = f"does not match the expected API version ({self.api_version})"
            raise BadRequest(f"the API version in the data ({given}) {expected}")
        scope.resets_managed_fields = resets_managed_fields(value)
        self.complete(obj)
        return obj

    def complete(self, obj: Object) -> None:
        """Set the defaults of a decoded object."""
        # kind and apiVersion are required in the body, other than for built-in kinds.
        self.codec.set_defaults(obj)

    def _missing_kind_error(self, value: Object, validation: str) -> Exception:
        # upstream 1.36: apimachinery/pkg/runtime/serializer/json; strict decoding forgets what was asked for
        if validation != "Ignore":
            return error_without_reason(500, "Object 'Kind' is missing in 'unstructured object has no kind'")
        return BadRequest(self.cannot_handle_message({"kind": self.kind.kind}, "Object 'Kind' is missing"))
