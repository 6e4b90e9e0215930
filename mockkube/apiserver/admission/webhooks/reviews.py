"""AdmissionReviews: build the request for a webhook, and check its response."""

# upstream 1.36: apiserver/pkg/admission/plugin/webhook/request/admissionreview.go, webhook/errors/statuserror.go
import base64
from collections.abc import Sequence
from typing import Any, Final

import orjson

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching import json_patch
from mockkube.api.patching.errors import BadPatch, TooManyOperations
from mockkube.apiserver.admission.policies.evaluation import VersionedAttributes, make_admission_request
from mockkube.apiserver.registry.webhook_calls import WebhookCallError
from mockkube.lazy_dataclasses import dataclass

_GROUP: Final = "admission.k8s.io"
_KIND: Final = "AdmissionReview"
_ERROR_CODE_MIN: Final = 400


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """Response of a webhook."""

    allowed: bool
    result: ReadOnlyObject
    warnings: tuple[str, ...] = ()
    patch: Sequence[ReadOnlyObject] = ()


def make_review(attributes: VersionedAttributes, uid: str, version: str) -> Object:
    """Return the AdmissionReview to send."""
    request = make_admission_request(attributes)
    request["uid"] = uid
    request["object"] = attributes.convert(attributes.request.obj)
    request["oldObject"] = attributes.convert(attributes.request.old)
    return {"kind": _KIND, "apiVersion": f"{_GROUP}/{version}", "request": request}


def parse_response(answer: Any, uid: str, version: str, *, is_mutating: bool) -> WebhookResponse:
    """Parse a response; raise WebhookCallError if it is malformed. `is_mutating`: it may change the object."""
    response = answer.get("response") if isinstance(answer, dict) else None
    if not isinstance(response, dict):
        raise _invalid_response("webhook response was absent")
    # Reviews of v1beta1 are not checked upstream, for compatibility with old webhooks.
    if version == "v1":
        _check_v1(answer, response, uid, is_mutating=is_mutating)
    return WebhookResponse(
        allowed=response.get("allowed") is True,
        result=response.get("status") or {},
        warnings=tuple(response.get("warnings") or ()),
        patch=_parse_patch(response) if is_mutating else (),
    )


def _invalid_response(why: str) -> WebhookCallError:
    return WebhookCallError(f"received invalid webhook response: {why}")


def _check_v1(answer: ReadOnlyObject, response: ReadOnlyObject, uid: str, *, is_mutating: bool) -> None:
    if response.get("uid", "") != uid:
        raise _invalid_response(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    given = (answer.get("apiVersion", ""), answer.get("kind", ""))
    if given != (f"{_GROUP}/v1", _KIND):
        raise _invalid_response(
            f"expected webhook response of {_GROUP}/v1, Kind={_KIND}, got {given[0]}, Kind={given[1]}"
        )
    patch, patch_type = response.get("patch"), response.get("patchType")
    if not is_mutating:
        if patch:
            raise _invalid_response("validating webhook may not return response.patch")
        if patch_type is not None:
            raise _invalid_response("validating webhook may not return response.patchType")
    elif patch and patch_type is None:
        raise _invalid_response("webhook returned response.patch but not response.patchType")
    elif not patch and patch_type is not None:
        raise _invalid_response("webhook returned response.patchType but not response.patch")
    elif patch_type == "":
        raise _invalid_response('webhook returned invalid response.patchType of ""')


def _parse_patch(response: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    """Return the operations of the response's patch; empty if there is none."""
    encoded, patch_type = response.get("patch"), response.get("patchType")
    if not encoded:
        return ()
    try:
        operations = json_patch.parse_operations(orjson.loads(base64.b64decode(encoded)), typed=False)
    except (ValueError, BadPatch, TooManyOperations) as error:
        raise WebhookCallError(f"received undecodable patch in webhook response: {error}") from error
    if operations and patch_type not in (None, "JSONPatch"):
        raise WebhookCallError(f'unsupported patch type "{patch_type}"')
    return operations


def rejection_error(name: str, result: ReadOnlyObject) -> ApiError:
    """Return the error for a request that a webhook rejected."""
    denied = f'admission webhook "{name}" denied the request'
    why = result.get("message") or result.get("reason")
    error = ApiError(f"{denied}: {why}" if why else f"{denied} without explanation", details=result.get("details"))
    # A webhook cannot answer with success on the client's behalf.
    error.code = max(result.get("code") or 0, _ERROR_CODE_MIN)
    error.reason = result.get("reason") or ""
    return error
