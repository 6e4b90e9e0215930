from datetime import UTC, datetime

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.certificates import certificate_signing_request, cluster_trust_bundle, pod_certificate_request

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "c", "creationTimestamp": "2026-03-14T11:00:00Z"}


@pytest.mark.parametrize(
    ("kinds", "status", "shown"),
    [
        pytest.param([], {}, "Pending", id="undecided"),
        pytest.param(["Approved"], {}, "Approved", id="approved"),
        pytest.param(["Approved", "Denied"], {}, "Denied", id="a denial outweighs"),
        pytest.param(["Approved", "Failed"], {}, "Approved,Failed", id="signing failed"),
        pytest.param(["Approved"], {"certificate": "eA=="}, "Approved,Issued", id="issued"),
    ],
)
def test_a_signing_request_says_what_became_of_it(kinds: list[str], status: Object, shown: str) -> None:
    obj = {"metadata": META, "spec": {}, "status": {"conditions": [{"type": kind} for kind in kinds], **status}}
    assert certificate_signing_request.CERTIFICATE_SIGNING_REQUEST.row(obj, NOW).cells[5] == shown


def test_a_signing_request_says_who_asks_whom_and_for_how_long() -> None:
    obj = {"metadata": META, "spec": {"signerName": "k/s", "username": "eve", "expirationSeconds": 86400}}
    cells = certificate_signing_request.CERTIFICATE_SIGNING_REQUEST.row(obj, NOW).cells
    assert cells == ["c", "60m", "k/s", "eve", "24h", "Pending"]
    bare = certificate_signing_request.CERTIFICATE_SIGNING_REQUEST.row({"metadata": META, "spec": {}}, NOW).cells
    assert bare == ["c", "60m", "<none>", "", "<none>", "Pending"]


def test_a_bundle_names_its_signer() -> None:
    assert cluster_trust_bundle.CLUSTER_TRUST_BUNDLE.row({"metadata": META, "spec": {}}, NOW).cells == ["c", "<none>"]
    obj = {"metadata": META, "spec": {"signerName": "k/s"}}
    assert cluster_trust_bundle.CLUSTER_TRUST_BUNDLE.row(obj, NOW).cells == ["c", "k/s"]


def test_a_pod_request_shows_its_pod_and_outcome() -> None:
    spec = {
        "podName": "p",
        "serviceAccountName": "sa",
        "nodeName": "n",
        "signerName": "k/s",
        "unverifiedUserAnnotations": {"b/c": "d"},
    }
    obj = {"metadata": META, "spec": spec, "status": {"conditions": [{"type": "Issued"}, {"type": "Seen"}]}}
    cells = pod_certificate_request.POD_CERTIFICATE_REQUEST.row(obj, NOW).cells
    assert cells == ["c", "p", "sa", "n", "k/s", "Issued", "b/c=d"]
