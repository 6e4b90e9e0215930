"""certificatesigningrequest-approving-controller: approves what kubelets ask for, if they may.

upstream 1.36: pkg/controller/certificates/approver/sarapprove.go
"""

from collections.abc import Iterator
from typing import ClassVar, Final

from mockkube.api.errors import ApiError
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.controllers.certificates import requests
from mockkube.controllers.certificates.rate_limits import limits
from mockkube.controllers.framework.controller import DONE, Again, Controller, Outcome, Setting
from mockkube.runtime.rate_limits import RateLimiter

_KIND: Final = "CertificateSigningRequest"
_WORDS: Final = {
    "selfnodeclient": "Auto approving self kubelet client certificate after SubjectAccessReview.",
    "nodeclient": "Auto approving kubelet client certificate after SubjectAccessReview.",
}
"""What is said of what was approved, by the subresource that whoever asks must be allowed to create."""


class Approving(Controller):
    """Keys are requests."""

    name: ClassVar[str] = "certificatesigningrequest-approving-controller"
    queue: ClassVar[str] = "certificate"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.requests = self.follow(_KIND)

    def limits(self) -> RateLimiter:
        """Return how long a key that failed waits."""
        return limits(self.clock)

    async def reconcile(self, key: Key) -> Outcome:
        """Approve a request of a kubelet that may make it; ask again later where one may not."""
        csr = self.requests.get(key)
        if csr is None or requests.issued(csr) or requests.decided(csr):
            return DONE
        tried = False
        for permission in _permissions(csr):
            tried = True
            if await self._may(csr["spec"], permission):
                said = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": _WORDS[permission]}
                status = {**(csr.get("status") or {}), "conditions": [*requests.conditions(csr), said]}
                await self.client.update(_KIND, {**csr, "status": status}, subresource="approval")
                return DONE
        return Again() if tried else DONE

    async def _may(self, spec: ReadOnlyObject, permission: str) -> bool:
        asked = {"group": "certificates.k8s.io", "resource": "certificatesigningrequests", "verb": "create"}
        question: Object = {
            "user": spec.get("username", ""),
            "groups": list(spec.get("groups") or ()),
            "resourceAttributes": {**asked, "subresource": permission, "version": "*"},
        }
        question |= {name: spec[name] for name in ("uid", "extra") if spec.get(name)}
        answer = await self.client.create("SubjectAccessReview", {"metadata": {}, "spec": question})
        return bool(answer["status"].get("allowed"))


def _permissions(csr: ReadOnlyObject) -> Iterator[str]:
    """What whoever asks must be allowed to do, any of it; nothing where it is no request of a kubelet."""
    from mockkube.api.kinds.certificates.certificate_signing_request import (  # with it comes cryptography
        common_name,
        parse_request,
    )

    spec = csr["spec"]
    if spec["signerName"] != requests.KUBELET_CLIENT:
        return
    try:
        request = parse_request(spec["request"])
    except ValueError as error:
        raise ApiError(f'unable to parse csr "{csr["metadata"]["name"]}": {error}') from error
    if requests.kubelet_client_complaint(request, spec["usages"]) is None:
        if spec.get("username") == common_name(request):
            yield "selfnodeclient"
        yield "nodeclient"
