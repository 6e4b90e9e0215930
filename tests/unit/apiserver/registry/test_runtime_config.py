"""Runtime configuration: the most specific setting decides which APIs are served."""

import re

import pytest

from mockkube.apiserver.registry.runtime_config import RuntimeConfig, make_runtime_config, normalize_keys, validate_keys

GROUPS = frozenset({"", "apps", "resource.k8s.io"})
VERSIONS = frozenset((group, "v1") for group in GROUPS)


def parse(texts: dict[str, str]) -> RuntimeConfig:
    normalized = normalize_keys(texts)
    validate_keys(normalized, GROUPS)
    return RuntimeConfig.parse(normalized, VERSIONS)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({}, {"v1": True, "v1beta1": False, "v1alpha1": False}),
        ({"api/all": "true"}, {"v1": True, "v1beta1": True, "v1alpha1": True}),
        ({"api/beta": "true"}, {"v1": True, "v1beta1": True, "v1alpha1": False}),
        ({"api/all": "true", "api/alpha": "false"}, {"v1": True, "v1beta1": True, "v1alpha1": False}),
        ({"resource.k8s.io/v1beta1": ""}, {"v1": True, "v1beta1": True, "v1alpha1": False}),
        ({"api/all": "true", "resource.k8s.io/v1": "false"}, {"v1": False, "v1beta1": True, "v1alpha1": True}),
        ({"resource.k8s.io/v1alpha1/deviceclasses": "1"}, {"v1": True, "v1beta1": False, "v1alpha1": True}),
    ],
)
def test_serves(texts: dict[str, str], expected: dict[str, bool]) -> None:
    config = parse(texts)
    served = {version: config.serves("resource.k8s.io", version, "deviceclasses") for version in expected}
    assert served == expected


@pytest.mark.parametrize("key", ["v1", "v1/pods", "api/v1", "api/v1/pods", "/v1", "/v1/pods"])
def test_keys_of_the_core_group(key: str) -> None:
    assert not parse({key: "false"}).serves("", "v1", "pods")
    assert parse({key: "false"}).serves("apps", "v1", "pods")


def test_a_resource_of_the_core_group_needs_the_slash() -> None:
    # As upstream: whatever follows v1 is left out.
    assert not parse({"v1/pods": "false"}).serves("", "v1", "secrets")
    assert parse({"/v1/pods": "false"}).serves("", "v1", "secrets")


def test_the_legacy_key_has_no_effect() -> None:
    assert parse({"api/legacy": "false"}) == RuntimeConfig()


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        (
            {"apps/v1/Pods": "true"},
            ('invalid key apps/v1/Pods: group/version/resource and resource is always lowercase plural, not "Pods"'),
        ),
        ({"api/all": "yes"}, "invalid value api/all=yes"),
        ({"apps/v1": "yes"}, 'invalid value of apps/v1: yes, err: strconv.ParseBool: parsing "yes": invalid syntax'),
        ({"apps/v9": "true"}, "group version apps/v9 that has not been registered"),
        ({"apps/v9/pods": "true"}, "group version apps/v9 that has not been registered"),
        ({"apps": "true"}, "runtime-config invalid key apps"),
        ({"b/v1": "true", "a/v1/x": "true"}, "unknown api groups a/v1,b/v1"),
    ],
)
def test_errors(texts: dict[str, str], error: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(error)}$"):
        parse(texts)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("example.com/v1", "unknown api groups example.com/v1"),
        ("resource.k8s.io/v9", "group version resource.k8s.io/v9 that has not been registered"),
        ("resource", "runtime-config invalid key resource"),
    ],
)
def test_a_key_that_names_no_api_is_refused(key: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make_runtime_config({key: "true"})
