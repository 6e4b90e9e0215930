"""certificatesigningrequest-signing-controller: signs approved requests for the built-in signers.

upstream 1.36: pkg/controller/certificates/signer/signer.go
"""

import base64
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import ClassVar, Final

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.client.protocol import Key
from mockkube.controllers.certificates import requests
from mockkube.controllers.certificates.authority import CertificateAuthority, SigningPolicy, signing_duration
from mockkube.controllers.certificates.requests import csr_rate_limiter
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.runtime.rate_limiters import RateLimiter

SIGNERS: Final = (
    requests.KUBELET_SERVING,
    requests.KUBELET_CLIENT,
    requests.CLIENT,
    requests.LEGACY_UNKNOWN,
)
_KIND: Final = "CertificateSigningRequest"


class CSRSigningController(Controller):
    """Controller that signs approved requests; keys are CertificateSigningRequests."""

    name: ClassVar[str] = "certificatesigningrequest-signing-controller"
    # differs: upstream runs one controller per signer, each with a queue of this name; here one serves all.
    queue_name: ClassVar[str] = "certificate"

    def __init__(self, dependencies: ControllerDependencies, authority: CertificateAuthority) -> None:
        super().__init__(dependencies)
        self.requests = self.watched_informer(_KIND)
        self._authority = authority
        self._max_duration = timedelta(seconds=dependencies.options.signing_seconds)

    def rate_limiter(self) -> RateLimiter:
        """Return the rate limiter for failed keys."""
        return csr_rate_limiter(self.clock)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Sign an approved request, or set condition Failed if its signer rejects it."""
        csr = self.requests.get(key)
        if csr is None or requests.is_issued(csr) or csr["spec"]["signerName"] not in SIGNERS:
            return DONE
        if requests.is_approved(csr) and not requests.has_failed(csr):
            await self.client.update(_KIND, self._with_certificate_or_failure(csr), subresource="status")
        return DONE

    def _with_certificate_or_failure(self, csr: ReadOnlyObject) -> Object:
        """Return the request with its certificate, or with condition Failed."""
        from mockkube.api.kinds.certificates.certificate_signing_request import (
            parse_request,  # slow to import: loads cryptography
        )

        spec, status = csr["spec"], csr.get("status") or {}
        try:
            request = parse_request(spec["request"])
        except ValueError as error:
            raise ApiError(f'unable to parse csr "{csr["metadata"]["name"]}": {error}') from error
        rejection = requests.validate_for_signer(spec["signerName"], request, spec["usages"])
        if rejection is not None:
            failure = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": rejection}
            conditions = [*requests.conditions(csr), {**failure, "lastUpdateTime": render_time(self.clock.now())}]
            return {**csr, "status": {**status, "conditions": conditions}}
        order = SigningPolicy(spec["usages"], signing_duration(spec.get("expirationSeconds"), self._max_duration))
        signed = self._authority.sign(request, order, self.clock.now())
        return {**csr, "status": {**status, "certificate": base64.b64encode(signed).decode()}}


def build(dependencies: ControllerDependencies) -> Sequence[Controller]:
    """Return the controller if a signing certificate and key are configured."""
    options = dependencies.options
    if not options.signing_certificate or not options.signing_key:
        return ()
    return (
        CSRSigningController(
            dependencies, CertificateAuthority(Path(options.signing_certificate), Path(options.signing_key))
        ),
    )
