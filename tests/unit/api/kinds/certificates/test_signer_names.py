import pytest

from mockkube.api.kinds.certificates.signer_names import validate_signer_name


@pytest.mark.parametrize(
    ("name", "details"),
    [
        pytest.param("a.b/c", [], id="fine"),
        pytest.param("", [""], id="empty"),
        pytest.param(
            "a.b", ["must be a fully qualified domain and path of the form 'example.com/signer-name'"], id="no path"
        ),
        pytest.param("a/c", ["should be a domain with at least two segments separated by dots"], id="short domain"),
    ],
)
def test_a_signer_has_a_domain_and_a_path(name, details):
    assert [error.detail for error in validate_signer_name(name, "s")] == details


def test_the_first_wrong_part_is_named():
    (error,) = validate_signer_name("a.b/C.D", "s")
    assert error.value == "C.D"
    assert error.detail.startswith('validating label "C": ')
