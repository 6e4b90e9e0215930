"""Values that the real API server has stored: protobuf, or JSON, in versions of its choice.

Most kinds are stored in the version in which they are stored here; CustomResourceDefinitions still are as v1beta1.
"""

from typing import Any, Final

from mockkube.api import conversions
from mockkube.api.json_objects import Object
from mockkube.api.protobuf.envelope import MAGIC, ProtobufSerializer
from mockkube.apiserver.registry import encoding

_CRD_V1BETA1: Final = ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition")
# Fields that v1 has in each version instead.
_FIELDS_OF_VERSIONS: Final = {
    "validation": "schema",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
}


def is_upstream_value(value: bytes) -> bool:
    """Return whether the real API server has stored a value: it puts no tag in front."""
    return value.startswith((b"{", MAGIC))


def decode_upstream_value(value: bytes, protobuf: ProtobufSerializer, api_version: str) -> Object:
    """Return the object in a version, neither pruned nor defaulted. Raises whatever a damaged value causes."""
    obj = protobuf.decode(value).value if value.startswith(MAGIC) else encoding.loads(value)
    stored_version = obj["apiVersion"]
    if (stored_version, obj["kind"]) == _CRD_V1BETA1:
        return _convert_crd(obj)
    return obj if stored_version == api_version else conversions.convert(obj, stored_version, api_version)


def _convert_crd(obj: Object) -> Object:
    """Convert a CustomResourceDefinition from v1beta1 to v1."""
    # upstream 1.36: apiextensions-apiserver/pkg/apis/apiextensions/{v1beta1,v1}/conversion.go
    spec: Object = dict(obj["spec"])
    version = spec.pop("version", "")
    versions = spec.get("versions") or [{"name": version, "served": True, "storage": True}]
    shared = {ours: spec.pop(theirs) for theirs, ours in _FIELDS_OF_VERSIONS.items() if theirs in spec}
    spec["versions"] = [_convert_version({**shared, **one}) for one in versions]
    if "conversion" in spec:
        spec["conversion"] = _convert_conversion(spec["conversion"])
    return {**obj, "apiVersion": "apiextensions.k8s.io/v1", "spec": spec}


def _convert_version(version: Object) -> Object:
    columns = version.get("additionalPrinterColumns")
    return {**version, "additionalPrinterColumns": [_rename_path(one) for one in columns]} if columns else version


def _rename_path(column: Object) -> Object:
    return {"jsonPath" if name == "JSONPath" else name: value for name, value in column.items()}


def _convert_conversion(conversion: Object) -> Object:
    webhook: dict[str, Any] = {}
    if "webhookClientConfig" in conversion:
        webhook["clientConfig"] = conversion["webhookClientConfig"]
    # v1beta1 has review versions also for the strategy None.
    if conversion["strategy"] == "Webhook" and "conversionReviewVersions" in conversion:
        webhook["conversionReviewVersions"] = conversion["conversionReviewVersions"]
    return {"strategy": conversion["strategy"]} | ({"webhook": webhook} if webhook else {})
