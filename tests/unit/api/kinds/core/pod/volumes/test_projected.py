"""Projected volumes and files of the pod's own fields."""

import pytest

from mockkube.api.kinds.core.pod.volumes.projected import (
    check_downward_api,
    has_invalid_token_path,
    validate_projected,
    validate_token_service_account,
)


def judge(*sources, allow_any_token_path=False):
    errors = validate_projected({"sources": list(sources)}, "p", allow_any_token_path=allow_any_token_path)
    return [str(error).partition(" (e.g.")[0] for error in errors]


TOKEN = {"expirationSeconds": 3600, "path": "token"}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        pytest.param({"serviceAccountToken": TOKEN}, [], id="token"),
        pytest.param(
            {"serviceAccountToken": {"expirationSeconds": 1}},
            [
                "p.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: "
                "may not specify a duration less than 10 minutes",
                "p.path: Required value",
            ],
            id="token of a second, nowhere",
        ),
        pytest.param(
            {"secret": {}, "configMap": {"name": "c"}},
            [
                "p.sources[0].secret.name: Required value",
                "p.sources[0]: Forbidden: may not specify more than 1 volume type per source",
            ],
            id="two kinds at once",
        ),
        pytest.param(
            {"clusterTrustBundle": {"path": "ca"}},
            ["p.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified"],
            id="no bundle named",
        ),
        pytest.param(
            {"clusterTrustBundle": {"path": "ca", "name": "a:b", "labelSelector": {}}},
            [
                "p.sources[0].clusterTrustBundle.labelSelector: Invalid value: {}: "
                "labelSelector must be unset if name is specified"
            ],
            id="bundle by name and by labels",
        ),
        pytest.param(
            {"clusterTrustBundle": {"path": "ca", "signerName": "odd"}},
            [
                'p.sources[0].clusterTrustBundle.signerName: Invalid value: "odd": '
                "must be a fully qualified domain and path of the form 'example.com/signer-name'"
            ],
            id="odd signer",
        ),
        pytest.param(
            {"podCertificate": {"signerName": "kubernetes.io/a", "keyType": "Odd", "maxExpirationSeconds": 90000}},
            [
                'p.sources[0].podCertificate.signerName: Invalid value: "kubernetes.io/a"',
                "p.sources[0].podCertificate.keyType: Unsupported value",
                "p.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 90000: "
                "if provided, maxExpirationSeconds must be <= 86400",
                "p.sources[0].podCertificate: Required value: "
                "specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
            ][1:],
            id="odd certificate",
        ),
    ],
)
def test_sources(source, says):
    found = judge(source)
    assert len(found) == len(says)
    assert all(error.startswith(text) for error, text in zip(found, says, strict=True)), found


def test_two_files_have_two_paths():
    items = [{"key": "k", "path": "a"}]
    assert judge({"configMap": {"name": "c", "items": items}}, {"secret": {"name": "s", "items": items}}) == [
        'p: Invalid value: "s": conflicting duplicate paths'
    ]


def test_a_token_path_that_climbs_stays_where_it_was_stored():
    source = {"serviceAccountToken": {**TOKEN, "path": "../token"}}
    assert judge(source) == ["p.path: Invalid value: \"../token\": must not contain '..'"]
    assert judge(source, allow_any_token_path=True) == []
    assert has_invalid_token_path([{"projected": {"sources": [source]}}])


def test_a_pod_without_a_service_account_gets_no_token():
    spec = {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": TOKEN}]}}]}
    (error,) = validate_token_service_account(spec, "spec")
    assert error.field == "spec.volumes[0].projected.sources[0].serviceAccountToken"
    assert validate_token_service_account({**spec, "serviceAccountName": "a"}, "spec") == []


@pytest.mark.parametrize(
    ("file", "says"),
    [
        pytest.param(
            {"path": "a", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}, [], id="all labels"
        ),
        pytest.param(
            {"path": "a"}, ["d: Required value: one of fieldRef and resourceFieldRef is required"], id="nothing"
        ),
        pytest.param(
            {"path": "/a", "mode": -1, "resourceFieldRef": {"resource": "limits.cpu"}},
            [
                'd.path: Invalid value: "/a": must be a relative path',
                "d.resourceFieldRef.containerName: Required value",
                "d.mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive",
            ],
            id="everything wrong",
        ),
    ],
)
def test_files_of_fields(file, says):
    assert [str(error) for error in check_downward_api({"items": [file]}, "d")] == says
