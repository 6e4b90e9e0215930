"""A component sees the fields its version knows, and no others."""

import pytest

from mockkube.api.errors import Internal
from mockkube.client.versioned_decoder import VersionedDecoder, keep_all_fields
from mockkube.features.versions import Version
from mockkube.proposals.component_extensions import make_schema

POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {}, "spec": {"containers": [], "hostnameOverride": "h"}}


@pytest.mark.parametrize(("minor", "seen"), [(33, False), (34, True)])
def test_a_field_is_seen_from_the_version_that_has_it(minor: int, seen: bool) -> None:
    lens = VersionedDecoder(make_schema(Version(1, minor))).decoder_for("", "v1", "Pod")
    assert ("hostnameOverride" in lens(POD)["spec"]) is seen


def test_what_is_seen_is_not_what_was_shown() -> None:
    lens = VersionedDecoder(make_schema(Version(1, 33))).decoder_for("", "v1", "Pod")
    lens(POD)["spec"].clear()
    assert POD["spec"]["hostnameOverride"] == "h"  # type: ignore[index]


def test_a_custom_resource_is_seen_whole() -> None:
    assert VersionedDecoder(make_schema(Version(1, 33))).decoder_for("example.com", "v1", "Widget") is keep_all_fields


@pytest.mark.parametrize(("minor", "known"), [(33, False), (34, True)])
def test_a_version_knows_its_kinds(minor: int, known: bool) -> None:
    assert VersionedDecoder(make_schema(Version(1, minor))).has_kind("resource.k8s.io", "v1", "ResourceClaim") is known


def test_what_cannot_be_decoded_is_an_error() -> None:
    with pytest.raises(Internal, match=r"a component of 1\.33 cannot decode this Pod"):
        VersionedDecoder(make_schema(Version(1, 33))).decoder_for("", "v1", "Pod")({"spec": "none"})
