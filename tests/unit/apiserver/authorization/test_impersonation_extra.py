import pytest

from mockkube.apiserver.authorization.impersonation import find_extra_error


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        pytest.param({"acme.io/scopes": ("a",)}, "", id="a path with a domain"),
        pytest.param({"": ("a",)}, "impersonating the empty string key in extra is not allowed", id="no key"),
        pytest.param(
            {"scopes": ("a",)},
            'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": '
            'must be a domain-prefixed path (such as "acme.io/foo")',
            id="no domain",
        ),
        pytest.param(
            {"acme.io/Scopes": ("a",)},
            'impersonating a non-lowercase key in extra is not allowed: "acme.io/Scopes"',
            id="a capital",
        ),
        pytest.param(
            {"acme.io/scopes": ("a", "")},
            "impersonating the empty string value in extra is not allowed",
            id="an empty value",
        ),
    ],
)
def test_a_strange_extra_field_is_told(extra, complaint):
    assert find_extra_error(extra) == complaint
