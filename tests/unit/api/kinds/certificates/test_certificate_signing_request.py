import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from mockkube.api.kinds.certificates.certificate_signing_request import CertificateSigningRequestStrategy

STRATEGY = CertificateSigningRequestStrategy()


@pytest.fixture(scope="module")
def request_text():
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), SHA256())
    return base64.b64encode(signed.public_bytes(Encoding.PEM)).decode()


def csr(text, *conditions, **spec):
    own = {"request": text, "signerName": "a.b/c", "usages": ["client auth"]}
    status = {"conditions": [dict(condition) for condition in conditions]} if conditions else {}
    return {"metadata": {"name": "c"}, "spec": {**own, **spec}, "status": status}


APPROVED = {"type": "Approved", "status": "True", "lastUpdateTime": "t", "lastTransitionTime": "t"}


def test_a_request_is_judged(judge, request_text):
    assert STRATEGY.validate(csr(request_text), judge()) == []
    obj = csr("", usages=["odd"], expirationSeconds=5, signerName="x")
    assert [error.field for error in STRATEGY.validate(obj, judge())] == [
        "spec.request",
        "spec.usages[0]",
        "spec.signerName",
        "spec.expirationSeconds",
    ]


def test_a_client_does_not_say_who_asks(judge, request_text):
    obj = csr(request_text, username="root", groups=["system:masters"])
    STRATEGY.prepare_for_create(obj, judge())
    assert not {"username", "groups"} & obj["spec"].keys()


def test_only_an_approval_approves(judge, request_text):
    new, old = csr(request_text, APPROVED), csr(request_text)
    assert STRATEGY.validate_update(new, old, judge(subresource="approval")) == []
    assert [str(error) for error in STRATEGY.validate_update(new, old, judge(subresource="status"))] == [
        'status.conditions: Forbidden: updates may not add a condition of type "Approved"'
    ]


def test_a_decision_is_for_ever(judge, request_text):
    errors = STRATEGY.validate_update(csr(request_text), csr(request_text, APPROVED), judge(subresource="approval"))
    assert [error.detail for error in errors] == ['updates may not remove a condition of type "Approved"']


def test_approved_and_denied_exclude_each_other(judge, request_text):
    both = csr(request_text, APPROVED, {**APPROVED, "type": "Denied"})
    errors = STRATEGY.validate_update(both, csr(request_text, APPROVED), judge(subresource="approval"))
    assert [error.detail for error in errors] == ["Approved and Denied conditions are mutually exclusive"]


def test_a_decision_is_stamped(judge, request_text):
    new = csr(request_text, {"type": "Approved", "status": "True"})
    STRATEGY.prepare_for_update(new, csr(request_text), judge(subresource="approval"))
    (condition,) = new["status"]["conditions"]
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"] == "2026-01-02T03:04:05Z"


def test_the_spec_never_changes(judge, request_text):
    new, old = csr(request_text, usages=["any"]), csr(request_text)
    STRATEGY.prepare_for_update(new, old, judge())
    assert new["spec"] == old["spec"]


def test_a_request_is_named_like_a_step_in_a_path():
    assert STRATEGY.validate_name("Some Name") == []
    assert STRATEGY.validate_name("a/b") == ["may not contain '/'"]
