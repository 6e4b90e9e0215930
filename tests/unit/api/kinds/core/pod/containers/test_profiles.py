"""Seccomp and AppArmor profiles."""

import pytest

from mockkube.api.kinds.core.pod.containers.profiles import (
    APP_ARMOR_ANNOTATION_PREFIX,
    SECCOMP_CONTAINER_ANNOTATION_PREFIX,
    SECCOMP_POD_ANNOTATION,
    to_app_armor_field,
    validate_app_armor_profile,
    validate_profile_annotations,
    validate_profiles_match,
    validate_seccomp_profile,
)


@pytest.mark.parametrize(
    ("check", "profile", "says"),
    [
        pytest.param(validate_seccomp_profile, {"type": "Localhost", "localhostProfile": "a/b"}, [], id="seccomp file"),
        pytest.param(
            validate_seccomp_profile,
            {},
            ["p.type: Required value: type is required when seccompProfile is set"],
            id="none",
        ),
        pytest.param(
            validate_seccomp_profile,
            {"type": "Localhost"},
            ["p.localhostProfile: Required value: must be set when seccomp type is Localhost"],
            id="no file",
        ),
        pytest.param(
            validate_seccomp_profile,
            {"type": "Unconfined", "localhostProfile": "a"},
            [
                'p.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":"a"}: '
                "can only be set when seccomp type is Localhost"
            ],
            id="file of no use",
        ),
        pytest.param(
            validate_app_armor_profile,
            {"type": "Localhost", "localhostProfile": " a"},
            ['p.localhostProfile: Invalid value: " a": must not be padded with whitespace'],
            id="padded",
        ),
        pytest.param(
            validate_app_armor_profile,
            {"type": "Odd"},
            ['p.type: Unsupported value: "Odd": supported values: "Localhost", "RuntimeDefault", "Unconfined"'],
            id="unknown",
        ),
    ],
)
def test_profiles_as_fields(check, profile, says):
    assert [str(error) for error in check(profile, "p")] == says


SPEC = {"containers": [{"name": "c", "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}]}


@pytest.mark.parametrize(
    ("annotations", "fields"),
    [
        pytest.param({SECCOMP_POD_ANNOTATION: "runtime/default"}, [], id="known"),
        pytest.param({SECCOMP_POD_ANNOTATION: "odd"}, [f"a.{SECCOMP_POD_ANNOTATION}"], id="unknown for the pod"),
        pytest.param(
            {f"{SECCOMP_CONTAINER_ANNOTATION_PREFIX}c": "localhost/../x"},
            [f"a.{SECCOMP_CONTAINER_ANNOTATION_PREFIX}c"],
            id="file that climbs",
        ),
        pytest.param({f"{APP_ARMOR_ANNOTATION_PREFIX}c": "localhost/x"}, [], id="AppArmor"),
        pytest.param(
            {f"{APP_ARMOR_ANNOTATION_PREFIX}d": "odd"},
            [f"a[{APP_ARMOR_ANNOTATION_PREFIX}d]"] * 2,
            id="AppArmor for nobody, unknown too",
        ),
    ],
)
def test_profiles_as_annotations(annotations, fields):
    assert [error.field for error in validate_profile_annotations(annotations, SPEC, "a")] == fields


def test_annotation_and_field_say_the_same():
    assert validate_profiles_match({f"{SECCOMP_CONTAINER_ANNOTATION_PREFIX}c": "docker/default"}, SPEC, "spec") == []
    (error,) = validate_profiles_match({f"{SECCOMP_CONTAINER_ANNOTATION_PREFIX}c": "unconfined"}, SPEC, "spec")
    assert str(error) == (
        "spec.containers[0].securityContext.seccompProfile.type: Forbidden: "
        "seccomp type in annotation and field must match"
    )


def test_the_profile_of_the_pod_stands_for_its_containers():
    spec = {
        "securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": "x"}},
        "containers": [{"name": "c"}],
    }
    assert validate_profiles_match({f"{APP_ARMOR_ANNOTATION_PREFIX}c": "localhost/x"}, spec, "spec") == []
    (error,) = validate_profiles_match({f"{APP_ARMOR_ANNOTATION_PREFIX}c": "localhost/y"}, spec, "spec")
    assert error.detail == "apparmor profile in annotation and field must match"


@pytest.mark.parametrize(
    ("annotation", "field"),
    [
        ("unconfined", {"type": "Unconfined"}),
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("localhost/a", {"type": "Localhost", "localhostProfile": "a"}),
        ("localhost/", None),
        ("odd", None),
    ],
)
def test_an_annotation_stands_for_a_field(annotation, field):
    assert to_app_armor_field(annotation) == field
