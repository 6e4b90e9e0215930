"""Names of other things."""

import pytest

from mockkube.api.validation.references import (
    check_trust_bundle_name,
    is_kubernetes_signer,
    validate_signer_name,
    validate_user_annotations,
)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("example.com/a.b", [], id="in order"),
        pytest.param("", ["Required value"], id="none"),
        pytest.param(
            "com/a",
            ['Invalid value: "com": should be a domain with at least two segments separated by dots'],
            id="short domain",
        ),
        pytest.param(
            "A.com/b",
            [
                'Invalid value: "A.com": validating label "A": a lowercase RFC 1123 label must consist of lower case '
                "alphanumeric characters or '-', and must start and end with an alphanumeric character "
                "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ],
            id="capital",
        ),
    ],
)
def test_signers(name, says):
    assert [error.message for error in validate_signer_name(name, "s")] == says


@pytest.mark.parametrize(
    ("name", "own"), [("kubernetes.io/a", True), ("a.kubernetes.io/b", True), ("xkubernetes.io/a", False)]
)
def test_kubernetes_has_signers_of_its_own(name, own):
    assert is_kubernetes_signer(name) is own


def test_a_bundle_is_named_for_its_signer():
    assert check_trust_bundle_name("example.com:signer:a") == []
    assert check_trust_bundle_name("example.com:signer:A") != []


def test_annotations_for_a_signer_have_a_domain():
    assert validate_user_annotations({"A.b/C": "d"}, "u") == []
    assert [error.detail for error in validate_user_annotations({"c": "d"}, "u")] == [
        'must be a domain-prefixed key (such as "acme.io/foo")'
    ]
