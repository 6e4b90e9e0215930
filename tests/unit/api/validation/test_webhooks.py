import pytest

from mockkube.api.validation.webhooks import validate_client_config, validate_review_versions


@pytest.mark.parametrize(
    ("client", "complaints"),
    [
        pytest.param({"url": "https://a.b/c"}, [], id="url"),
        pytest.param({"service": {"name": "a", "namespace": "b", "port": 443, "path": "/x/y"}}, [], id="service"),
        pytest.param({}, ["c: Required value: exactly one of url or service is required"], id="neither"),
        pytest.param(
            {"url": "http://u:p@a.b/c?d#e"},
            [
                "c.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: "
                "https://host[/path]",
                'c.url: Invalid value: "u:p": user information is not permitted in the URL',
                'c.url: Invalid value: "e": fragments are not permitted in the URL',
                'c.url: Invalid value: "d": query parameters are not permitted in the URL',
            ],
            id="all that is not allowed",
        ),
        pytest.param(
            {"service": {"name": "a", "port": 443}},
            ["c.service.name: Required value"],
            id="the namespace, upstream's way",
        ),
        pytest.param(
            {"service": {"name": "a", "namespace": "b", "port": 443, "path": "/a//b"}},
            ['c.service.path: Invalid value: "/a//b": segment[1] may not be empty'],
            id="empty step",
        ),
    ],
)
def test_a_webhook_is_somewhere(client, complaints):
    assert [str(error) for error in validate_client_config(client, "c")] == complaints


@pytest.mark.parametrize(
    ("versions", "recognized", "details"),
    [
        pytest.param(["v1"], True, [], id="known"),
        pytest.param([], True, ["none"], id="none"),
        pytest.param(["v2"], True, ["must include at least one of v1, v1beta1"], id="unknown"),
        pytest.param(["v2", "v2"], False, ["duplicate version"], id="twice"),
    ],
)
def test_a_version_is_known_here(versions, recognized, details):
    errors = validate_review_versions(versions, "v", missing="none", recognized=recognized)
    assert [error.detail for error in errors] == details
