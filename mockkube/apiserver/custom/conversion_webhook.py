"""Conversion webhooks: convert objects between the versions of a CRD."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson

from mockkube.api.custom.crd import Crd
from mockkube.api.errors import ApiError
from mockkube.api.fields import FieldError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.go_formatting import go_type_name, json_kind_name
from mockkube.api.validation.labels import validate_labels
from mockkube.api.validation.metadata import validate_annotations
from mockkube.apiserver.registry.resource import RegistryDependencies, error_without_reason
from mockkube.apiserver.registry.webhook_calls import WebhookCallError

_GROUP: Final = "apiextensions.k8s.io"
_KIND: Final = "ConversionReview"
_SCHEME: Final = "k8s.io/apiserver/pkg/util/webhook/client.go:71"
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_TIMEOUT_SECONDS: Final = 30.0
# Metadata that a webhook may change; everything else is kept as before.
_MUTABLE_METADATA: Final = ("labels", "annotations")


class _InvalidResponse(Exception):
    """Error for an invalid response of a conversion webhook; the text has the reason."""


class ConversionWebhook:
    """Conversion webhook of one CRD."""

    def __init__(self, crd: Crd, dependencies: RegistryDependencies) -> None:
        self._dependencies = dependencies
        self._kind = crd.kind
        self._list_kind: str = crd.names.get("listKind") or f"{crd.kind}List"
        webhook: ReadOnlyObject = crd.conversion["webhook"]
        self._client: ReadOnlyObject = webhook["clientConfig"]
        self._version = next((one for one in webhook["conversionReviewVersions"] if one in _REVIEW_VERSIONS), "")

    async def convert(self, objects: Sequence[ReadOnlyObject], target: str) -> list[Object]:
        """Convert objects of other versions to this apiVersion, with a single call."""
        if not objects:
            return []
        about = f"conversion webhook for {self._describe(objects, target)}"
        if not self._version:
            raise conversion_failed("no supported conversion review versions")
        uid = self._dependencies.random.new_uid()
        try:
            answer = await self._dependencies.call_webhook(
                self._client, self._make_review(objects, target, uid), _TIMEOUT_SECONDS, ""
            )
            converted = self._converted_objects(answer, uid)
        except (WebhookCallError, _InvalidResponse) as error:
            raise conversion_failed(f"{about} failed: {error}") from error
        if len(converted) != len(objects):
            raise conversion_failed(f"{about} returned {len(converted)} objects, expected {len(objects)}")
        indices = range(len(objects)) if len(objects) > 1 else (None,)
        pairs = zip(objects, converted, indices, strict=True)
        return [self._check_object(before, after, target, about, index) for before, after, index in pairs]

    def _describe(self, objects: Sequence[ReadOnlyObject], target: str) -> str:
        if len(objects) == 1:
            return f"{objects[0]['apiVersion']}, Kind={self._kind}"
        return f"{target}, Kind={self._list_kind}"

    def _make_review(self, objects: Sequence[ReadOnlyObject], target: str, uid: str) -> Object:
        request = {"uid": uid, "desiredAPIVersion": target, "objects": list(objects)}
        response: Object = {"uid": "", "convertedObjects": None, "result": {"metadata": {}}}
        return {
            "kind": _KIND, "apiVersion": f"{_GROUP}/{self._version}", "request": request, "response": response,
        }  # fmt: skip

    def _converted_objects(self, answer: Any, uid: str) -> Sequence[Any]:
        """Return the converted objects of a response."""
        given = answer if isinstance(answer, dict) else {}
        _check_review(given, self._version)
        response = given.get("response")
        if not isinstance(response, dict):
            raise _InvalidResponse("no response provided")
        # Reviews of v1beta1 do not require the uid in the response.
        if self._version == "v1" and response.get("uid", "") != uid:
            raise _InvalidResponse(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
        result = response.get("result") or {}
        if result.get("status") != "Success":
            status = result.get("status", "")
            raise _InvalidResponse(result.get("message") or f"response.result.status was '{status}', not 'Success'")
        return response.get("convertedObjects") or ()

    def _check_object(self, before: ReadOnlyObject, after: Any, target: str, about: str, index: int | None) -> Object:
        """Return a converted object with its original metadata, except for what may change.

        `index`: its position, if several objects were converted.
        """
        of_many = index is not None
        at = f"at index {index or 0}"
        what = f"converted object {at}" if of_many else "object"
        if why := _find_object_error(after):
            raise conversion_failed(f"{about} returned invalid {what}: {why}" if of_many else why)
        with _raise_failures(f"{about} returned invalid {what if of_many else f'object {at}'}"):
            _check_kind(before, after, target)
        with _raise_failures(f"{about} returned invalid {what}"):
            _check_identity(before, after)
        with _raise_failures(f"{about} returned invalid metadata{f' in object {at}' if of_many else ''}"):
            return {**after, "metadata": _merge_metadata(before, after)}


@contextmanager
def _raise_failures(where: str) -> Iterator[None]:
    try:
        yield
    except _InvalidResponse as error:
        raise conversion_failed(f"{where}: {error}") from error


def conversion_failed(why: str) -> ApiError:
    """Return the error of a failed conversion."""
    return error_without_reason(500, why)


def _check_review(answer: ReadOnlyObject, version: str) -> None:
    """Check that the response is a review in the version of the request."""
    given, kind = answer.get("apiVersion", ""), answer.get("kind", "")
    if kind != _KIND or given not in [f"{_GROUP}/{one}" for one in _REVIEW_VERSIONS]:
        raise _InvalidResponse(f'no kind "{kind}" is registered for version "{given}" in scheme "{_SCHEME}"')
    if given != f"{_GROUP}/{version}":
        other = given.rpartition("/")[2]
        raise _InvalidResponse(f"converting ({other}.{_KIND}) to ({version}.{_KIND}): unknown conversion")


def _find_object_error(after: Any) -> str:
    """Return why a converted value is no object; empty if it is one."""
    if not isinstance(after, dict):
        return f"json: cannot unmarshal {json_kind_name(after)} into Go value of type map[string]interface {{}}"
    return "" if after.get("kind") else f"Object 'Kind' is missing in '{orjson.dumps(after).decode()}'"


def _check_kind(before: ReadOnlyObject, after: ReadOnlyObject, target: str) -> None:
    if after.get("apiVersion", "") != target:
        raise _InvalidResponse(f"invalid groupVersion (expected {target}, received {after.get('apiVersion', '')})")
    if after["kind"] != before["kind"]:
        raise _InvalidResponse(f"invalid kind (expected {before['kind']}, received {after['kind']})")


def _check_identity(before: ReadOnlyObject, after: ReadOnlyObject) -> None:
    metadata = after.get("metadata")
    given = metadata if isinstance(metadata, dict) else {}
    for name, word in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        expected, actual = before["metadata"].get(name, ""), given.get(name, "")
        if expected != actual:
            raise _InvalidResponse(f"must have the same {word}: {expected} != {actual}")


def _merge_metadata(before: ReadOnlyObject, after: ReadOnlyObject) -> Object:
    if "metadata" not in after:
        raise _InvalidResponse("missing metadata in converted object")
    given, metadata = after["metadata"], dict(before["metadata"])
    if not isinstance(given, dict):
        raise _InvalidResponse(f"invalid metadata of type {go_type_name(given)} in converted object")
    for name in _MUTABLE_METADATA:
        texts = given.get(name)
        if texts is None:
            metadata.pop(name, None)
            continue
        if not isinstance(texts, dict):
            raise _InvalidResponse(f"invalid metadata.{name} of type {go_type_name(texts)} in converted object")
        for key, text in texts.items():
            if not isinstance(text, str):
                raise _InvalidResponse(
                    f"metadata.{name}[{key}] must be a string, but is {go_type_name(text)} in converted object"
                )
        if texts != metadata.get(name, {}) and (errors := _validate_metadata_texts(name, texts)):
            joined = ", ".join(map(str, errors))
            raise _InvalidResponse(f"[{joined}]" if len(errors) > 1 else joined)
        metadata[name] = texts
    return metadata


def _validate_metadata_texts(name: str, texts: Mapping[str, str]) -> list[FieldError]:
    if name == "labels":
        return validate_labels(texts, "metadata.labels")
    return validate_annotations(texts, "metadata.annotation")
