"""Which fields the endpoints of a kind write."""

import pytest

from mockkube.api.managed_fields.field_set import FieldSet, format_path
from mockkube.api.managed_fields.reset_fields import ALL_FIELDS, get_field_filter

FIELDS = FieldSet.from_paths(
    ("f:metadata", "f:labels", "f:a"),
    ("f:metadata", "f:ownerReferences", 'k:{"uid":"u"}'),
    ("f:spec",),
    ("f:spec", "f:containers", 'k:{"name":"c"}', "f:image"),
    ("f:spec", "f:containers", 'k:{"name":"c"}', "f:resources", "f:limits"),
    ("f:spec", "f:ephemeralContainers", 'k:{"name":"e"}'),
    ("f:status", "f:conditions"),
    ("f:status", "f:certificate"),
)
LABEL, OWNER = ".metadata.labels.a", '.metadata.ownerReferences[uid="u"]'
SPEC = [
    ".spec", '.spec.containers[name="c"].image', '.spec.containers[name="c"].resources.limits',
    '.spec.ephemeralContainers[name="e"]',
]  # fmt: skip
CERTIFICATE, CONDITIONS = ".status.certificate", ".status.conditions"


@pytest.mark.parametrize(
    ("endpoint", "written"),
    [
        pytest.param(("", "Node"), [LABEL, OWNER, *SPEC], id="object"),
        pytest.param(("", "Node", "status"), [LABEL, OWNER, CERTIFICATE, CONDITIONS], id="status"),
        pytest.param(("", "Pod", "status"), [LABEL, CERTIFICATE, CONDITIONS], id="status of a pod"),
        pytest.param(("apps", "Deployment", "status"), [OWNER, CERTIFICATE, CONDITIONS], id="status of a deployment"),
        pytest.param(
            ("resource.k8s.io", "ResourceClaim", "status"), [CERTIFICATE, CONDITIONS], id="nothing but status"
        ),
        pytest.param(
            ("certificates.k8s.io", "CertificateSigningRequest", "approval"), [LABEL, OWNER, CONDITIONS], id="approval"
        ),
    ],
)
def test_an_endpoint_writes_only_what_it_reaches(endpoint, written):
    assert sorted(format_path(path) for path in get_field_filter(*endpoint).filter_fields(FIELDS).paths()) == sorted(
        written
    )


def test_the_status_of_a_custom_resource_is_all_its_subresource_writes():
    within = get_field_filter("example.com", "Thing", "status", custom=True).filter_fields(FIELDS)
    assert sorted(format_path(path) for path in within.paths()) == [CERTIFICATE, CONDITIONS]


@pytest.mark.parametrize("endpoint", [("apps", "Deployment", "scale"), ("", "Pod", "resize")], ids="/".join)
def test_other_endpoints_write_everything(endpoint):
    assert get_field_filter(*endpoint) is ALL_FIELDS
    assert ALL_FIELDS.filter_fields(FIELDS) == FIELDS
