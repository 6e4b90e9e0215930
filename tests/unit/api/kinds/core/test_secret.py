import base64

import pytest

from mockkube.api.kinds.core.secret import SecretStrategy, find_json_object_error

STRATEGY = SecretStrategy()


def secret(kind="Opaque", **data):
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"metadata": {"name": "s"}, "type": kind, "data": encoded}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(secret("kubernetes.io/basic-auth"), ["data[username]", "data[password]"], id="basic"),
        pytest.param(secret("kubernetes.io/basic-auth", password="x"), [], id="password alone"),
        pytest.param(secret("kubernetes.io/ssh-auth"), ["data[ssh-privatekey]"], id="ssh"),
        pytest.param(secret("kubernetes.io/tls"), ["data[tls.crt]", "data[tls.key]"], id="tls"),
        pytest.param(secret("kubernetes.io/dockercfg"), ["data[.dockercfg]"], id="docker"),
        pytest.param(
            secret("kubernetes.io/service-account-token"),
            ["metadata.annotations[kubernetes.io/service-account.name]"],
            id="token",
        ),
        pytest.param(secret("example.com/own"), [], id="a type of one's own"),
    ],
)
def test_each_type_asks_for_its_keys(judge, obj, complaints):
    assert [error.field for error in STRATEGY.validate(obj, judge())] == complaints


def test_the_content_of_a_secret_is_never_shown(judge):
    obj = secret("kubernetes.io/dockerconfigjson")
    obj["data"][".dockerconfigjson"] = base64.b64encode(b"hunter2").decode()
    (error,) = STRATEGY.validate(obj, judge())
    assert "hunter2" not in str(error)
    assert "<secret contents redacted>" in str(error)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(b"{}", None, id="object"),
        pytest.param(b"null", None, id="null"),
        pytest.param(b"", "unexpected end of JSON input", id="empty"),
        pytest.param(b"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}", id="array"),
    ],
)
def test_json_is_judged_in_gos_words(text, complaint):
    assert find_json_object_error(text) == complaint


def test_an_update_without_type_keeps_it(judge):
    new, old = secret(), secret("example.com/own")
    del new["type"]
    STRATEGY.prepare_for_update(new, old, judge())
    assert new["type"] == "example.com/own"


def test_the_type_never_changes(judge):
    errors = STRATEGY.validate_update(secret("example.com/a"), secret("example.com/b"), judge())
    assert [str(error) for error in errors] == ['type: Invalid value: "example.com/a": field is immutable']


def test_a_key_pair_without_pem_earns_a_warning(judge):
    obj = secret("kubernetes.io/tls", **{"tls.crt": "x", "tls.key": "y"})
    assert STRATEGY.warnings_on_create(obj, judge()) == ["tls: failed to find any PEM data in certificate input"]
