"""Certificate plugins: who may approve and sign certificate requests, and attest trust bundles."""

# upstream 1.36: plugin/pkg/admission/certificates/, pkg/certauthorization/authorization.go
from typing import Final

from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.identity.user import MASTERS_GROUP
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes

GROUP: Final = "certificates.k8s.io"
_REQUESTS: Final = "certificatesigningrequests"
_CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"
_BOOKKEEPING_METADATA: Final = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")


def _has_permission(request: AdmissionAttributes, verb: str, signer: str) -> bool:
    """Return whether the user has a verb on a signer, by its name or on all signers of its domain."""
    user, decide = request.scope.user, request.resource.dependencies.authorize
    names = (signer, f"{signer.partition('/')[0]}/*")
    return any(decide(AuthorizationAttributes(user, verb, GROUP, "signers", name=name)).allowed for name in names)


class CertificateApproval(AdmissionPlugin):
    """Requires the permission to approve for the signer of the request."""

    name = "CertificateApproval"
    operations = (Operation.UPDATE,)
    resources = ((GROUP, _REQUESTS),)

    def validate(self, request: AdmissionAttributes) -> None:
        """Check approvals and denials."""
        if not request.is_for(GROUP, _REQUESTS, "approval"):
            return
        assert request.old is not None
        # The old signer counts, because an update cannot change it: validation rejects that.
        signer = request.old["spec"].get("signerName", "")
        if not _has_permission(request, "approve", signer):
            raise new_forbidden(request, f'user not permitted to approve requests with signerName "{signer}"')


class CertificateSigning(AdmissionPlugin):
    """Requires the permission to sign for the signer of the request."""

    name = "CertificateSigning"
    operations = (Operation.UPDATE,)
    resources = ((GROUP, _REQUESTS),)

    def validate(self, request: AdmissionAttributes) -> None:
        """Check changes of the certificate or the conditions."""
        if not request.is_for(GROUP, _REQUESTS, "status"):
            return
        assert request.old is not None
        new, old = request.new.get("status") or {}, request.old.get("status") or {}
        if all(new.get(field) == old.get(field) for field in ("certificate", "conditions")):
            return
        signer = request.old["spec"].get("signerName", "")
        if not _has_permission(request, "sign", signer):
            raise new_forbidden(request, f'user not permitted to sign requests with signerName "{signer}"')


class CertificateSubjectRestriction(AdmissionPlugin):
    """Rejects client certificates for the group system:masters."""

    name = "CertificateSubjectRestriction"
    operations = (Operation.CREATE,)
    resources = ((GROUP, _REQUESTS),)

    def validate(self, request: AdmissionAttributes) -> None:
        """Check new requests to the signer of client certificates."""
        if not request.is_for(GROUP, _REQUESTS):
            return
        spec = request.new["spec"]
        if spec.get("signerName") != _CLIENT_SIGNER:
            return
        # Imported late, because it loads the cryptography package; the kind's strategy has loaded it by now.
        from mockkube.api.kinds.certificates.certificate_signing_request import parse_request, subject_organizations

        try:
            groups = subject_organizations(parse_request(spec.get("request", "")))
        except ValueError as error:
            raise new_forbidden(request, f"failed to parse CSR: {error}") from error
        if MASTERS_GROUP in groups:
            raise new_forbidden(request, f"use of {_CLIENT_SIGNER} signer with {MASTERS_GROUP} group is not allowed")


class ClusterTrustBundleAttest(AdmissionPlugin):
    """Requires the permission to attest for the signer of a trust bundle."""

    name = "ClusterTrustBundleAttest"
    resources = ((GROUP, "clustertrustbundles"),)

    def validate(self, request: AdmissionAttributes) -> None:
        """Check new bundles, and updates that change more than metadata for the garbage collector."""
        if not request.is_for_resource(GROUP, "clustertrustbundles"):
            return
        if not request.resource.dependencies.capabilities.enabled("ClusterTrustBundle"):
            return
        signer = request.new["spec"].get("signerName", "")
        if not signer or _changes_only_bookkeeping(request) or _has_permission(request, "attest", signer):
            return
        raise new_forbidden(request, f'user not permitted to attest for signerName "{signer}"')


def _changes_only_bookkeeping(request: AdmissionAttributes) -> bool:
    if request.old is None:
        return False
    new, old = (
        {
            **obj,
            "metadata": {name: value for name, value in obj["metadata"].items() if name not in _BOOKKEEPING_METADATA},
        }
        for obj in (request.new, request.old)
    )
    return new == old
