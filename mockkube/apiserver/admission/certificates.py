"""Certificate plugins: who may approve and sign certificate requests, and attest trust bundles."""

# upstream 1.36: plugin/pkg/admission/certificates/, pkg/certauthorization/authorization.go
from typing import Final

from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.identity.user import MASTERS
from mockkube.apiserver.registry.admission import Operation, Plugin, Request
from mockkube.apiserver.registry.authorizer import Attributes

GROUP: Final = "certificates.k8s.io"
_REQUESTS: Final = "certificatesigningrequests"
_CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"
_TRACKED: Final = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")


def _may(request: Request, verb: str, signer: str) -> bool:
    """Return whether the user has a verb on a signer, by its name or on all signers of its domain."""
    user, decide = request.call.user, request.resource.services.authorize
    names = (signer, f"{signer.partition('/')[0]}/*")
    return any(decide(Attributes(user, verb, GROUP, "signers", name=name)).allowed for name in names)


class CertificateApproval(Plugin):
    """Requires the permission to approve for the signer of the request."""

    name = "CertificateApproval"
    operations = (Operation.UPDATE,)

    def validate(self, request: Request) -> None:
        """Check approvals and denials."""
        if not request.about(GROUP, _REQUESTS, "approval"):
            return
        assert request.old is not None
        # The old signer counts, because an update cannot change it: validation rejects that.
        signer = request.old["spec"].get("signerName", "")
        if not _may(request, "approve", signer):
            raise refuse(request, f'user not permitted to approve requests with signerName "{signer}"')


class CertificateSigning(Plugin):
    """Requires the permission to sign for the signer of the request."""

    name = "CertificateSigning"
    operations = (Operation.UPDATE,)

    def validate(self, request: Request) -> None:
        """Check changes of the certificate or the conditions."""
        if not request.about(GROUP, _REQUESTS, "status"):
            return
        assert request.old is not None
        new, old = request.given.get("status") or {}, request.old.get("status") or {}
        if all(new.get(field) == old.get(field) for field in ("certificate", "conditions")):
            return
        signer = request.old["spec"].get("signerName", "")
        if not _may(request, "sign", signer):
            raise refuse(request, f'user not permitted to sign requests with signerName "{signer}"')


class CertificateSubjectRestriction(Plugin):
    """Rejects client certificates for the group system:masters."""

    name = "CertificateSubjectRestriction"
    operations = (Operation.CREATE,)

    def validate(self, request: Request) -> None:
        """Check new requests to the signer of client certificates."""
        if not request.about(GROUP, _REQUESTS):
            return
        spec = request.given["spec"]
        if spec.get("signerName") != _CLIENT_SIGNER:
            return
        # Imported late, because it loads the cryptography package; the kind's strategy has loaded it by now.
        from mockkube.api.kinds.certificates.certificate_signing_request import parse_request, subject_organizations

        try:
            groups = subject_organizations(parse_request(spec.get("request", "")))
        except ValueError as error:
            raise refuse(request, f"failed to parse CSR: {error}") from error
        if MASTERS in groups:
            raise refuse(request, f"use of {_CLIENT_SIGNER} signer with {MASTERS} group is not allowed")


class ClusterTrustBundleAttest(Plugin):
    """Requires the permission to attest for the signer of a trust bundle."""

    name = "ClusterTrustBundleAttest"

    def validate(self, request: Request) -> None:
        """Check new bundles, and updates that change more than metadata for the garbage collector."""
        if not request.of_kind(GROUP, "clustertrustbundles"):
            return
        if not request.resource.services.caps.enabled("ClusterTrustBundle"):
            return
        signer = request.given["spec"].get("signerName", "")
        if not signer or _only_tracks(request) or _may(request, "attest", signer):
            return
        raise refuse(request, f'user not permitted to attest for signerName "{signer}"')


def _only_tracks(request: Request) -> bool:
    if request.old is None:
        return False
    new, old = (
        {**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name not in _TRACKED}}
        for obj in (request.given, request.old)
    )
    return new == old
