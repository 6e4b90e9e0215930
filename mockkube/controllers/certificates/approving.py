"""certificatesigningrequest-approving-controller: approves requests of kubelets that are authorized.

upstream 1.36: pkg/controller/certificates/approver/sarapprove.go
"""

from collections.abc import Iterator
from typing import ClassVar, Final

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.controllers.certificates import requests
from mockkube.controllers.certificates.requests import csr_rate_limiter
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.runtime.rate_limiters import RateLimiter

_KIND: Final = "CertificateSigningRequest"
# Message of the approval, by the subresource that the requester must be allowed to create.
_APPROVE_MESSAGES: Final = {
    "selfnodeclient": "Auto approving self kubelet client certificate after SubjectAccessReview.",
    "nodeclient": "Auto approving kubelet client certificate after SubjectAccessReview.",
}


class CSRApprovingController(Controller):
    """Approver of kubelet client certificates; keys are CertificateSigningRequests."""

    name: ClassVar[str] = "certificatesigningrequest-approving-controller"
    queue_name: ClassVar[str] = "certificate"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.requests = self.watched_informer(_KIND)

    def rate_limiter(self) -> RateLimiter:
        """Return the rate limiter for failed keys."""
        return csr_rate_limiter(self.clock)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Approve a kubelet's request if the requester is authorized; retry one that is not."""
        csr = self.requests.get(key)
        if csr is None or requests.is_issued(csr) or requests.is_decided(csr):
            return DONE
        tried = False
        for permission in _recognize(csr):
            tried = True
            if await self._authorize(csr["spec"], permission):
                entry = {
                    "type": "Approved",
                    "status": "True",
                    "reason": "AutoApproved",
                    "message": _APPROVE_MESSAGES[permission],
                }
                status = {**(csr.get("status") or {}), "conditions": [*requests.conditions(csr), entry]}
                await self.client.update(_KIND, {**csr, "status": status}, subresource="approval")
                return DONE
        # The requester may be granted the permission later; requests that the controller does not recognize are left
        # alone.
        return Requeue() if tried else DONE

    async def _authorize(self, spec: ReadOnlyObject, permission: str) -> bool:
        """Return whether the requester is allowed to create a subresource of requests."""
        resource = {"group": "certificates.k8s.io", "resource": "certificatesigningrequests", "verb": "create"}
        question: Object = {
            "user": spec.get("username", ""),
            "groups": list(spec.get("groups") or ()),
            "resourceAttributes": {**resource, "subresource": permission, "version": "*"},
        }
        question |= {name: spec[name] for name in ("uid", "extra") if spec.get(name)}
        answer = await self.client.create("SubjectAccessReview", {"metadata": {}, "spec": question})
        return bool(answer["status"].get("allowed"))


def _recognize(csr: ReadOnlyObject) -> Iterator[str]:
    """Yield the permissions that entitle the requester to approval; none for other than kubelets."""
    from mockkube.api.kinds.certificates.certificate_signing_request import (  # slow to import: loads cryptography
        parse_request,
        subject_common_name,
    )

    spec = csr["spec"]
    if spec["signerName"] != requests.KUBELET_CLIENT:
        return
    try:
        request = parse_request(spec["request"])
    except ValueError as error:
        raise ApiError(f'unable to parse csr "{csr["metadata"]["name"]}": {error}') from error
    if requests.validate_kubelet_client_csr(request, spec["usages"]) is None:
        if spec.get("username") == subject_common_name(request):
            yield "selfnodeclient"
        yield "nodeclient"
