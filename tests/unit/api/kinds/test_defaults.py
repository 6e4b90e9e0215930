"""What holds for the defaults of every kind, shown on objects made up from its schema."""

import copy
import random
from datetime import UTC, datetime
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockkube.api.decoding.codec import Codec, DecodingState
from mockkube.api.kinds.every_kind import KINDS
from mockkube.api.schema import Schema, Shape
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

DEFAULTS = {(kind.group, version, kind.kind): default for kind in KINDS for version, default in kind.defaults.items()}
STAMPS = {(kind.group, version, kind.kind): stamp for kind in KINDS for version, stamp in kind.time_defaults.items()}

VERSIONS = [Version(1, minor) for minor in (36, 33, 34, 35, 37)]
GATES = {
    "H2CContainerProbe": Version(1, 37),
    "ImageVolume": Version(1, 33),
    "JobPodReplacementPolicy": Version(1, 33),
    "MaxUnavailableStatefulSet": Version(1, 33),
    "PodGroupPreemptionPolicy": Version(1, 37),
    "PodLevelResources": Version(1, 33),
    "PodLevelResourcesFixDefaulting": Version(1, 37),
    "SELinuxMountReadWriteOncePod": Version(1, 33),
    "VolumeLimitScaling": Version(1, 35),
}
"""The gates that defaults ask about, and the first version here that knows them."""
NOW = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
DEPTH_MAX = 12
TEXTS = ("", "a", "img:latest", "Container", "ClientIP", "LoadBalancer", "User", "RollingUpdate", "OnDelete", "Always")
NUMBERS = (0, 1, -1, 80)
QUANTITIES = ("0", "1", "1u", "1500m", "64Mi", "3e-6")
SCALARS = {
    Shape.STRING: TEXTS,
    Shape.BYTES: ("", "YQ=="),
    Shape.BOOL: (True, False),
    Shape.INT32: NUMBERS,
    Shape.INT64: NUMBERS,
    Shape.FLOAT: (0, 1.5),
    Shape.QUANTITY: QUANTITIES,
    Shape.INT_OR_STRING: (0, 80, "web", "10%"),
    Shape.TIME: ("2026-01-01T00:00:00Z",),
    Shape.MICRO_TIME: ("2026-01-01T00:00:00.000001Z",),
    Shape.ANY: ({}, {"a": 1}),
}


@cache
def codec(version):
    return Codec(Schema(version))


def known_in(key):
    """The versions that have the kind."""
    return [version for version in VERSIONS if codec(version).schema.find_kind_type(*key)]


@st.composite
def servers(draw, versions):
    """A version with some of its gates."""
    version = draw(st.sampled_from(versions))
    gates = [gate for gate, since in GATES.items() if since <= version]
    return Capabilities(version, draw(st.frozensets(st.sampled_from(gates))))


def made_up(node, chance, depth=0):
    """A value of the type: some of its fields, few items, and nothing below a certain depth."""
    match node.shape:
        case Shape.STRUCT:
            share = 0.6 if depth < 4 else 0.35
            chosen = [one for one in node.fields.values() if depth < DEPTH_MAX and chance.random() < share]
            return {one.name: made_up(one.node, chance, depth + 1) for one in chosen}
        case Shape.LIST:
            return [made_up(node.item, chance, depth + 1) for _ in range(chance.choice((0, 1, 2)))]
        case Shape.MAP:
            return {
                chance.choice(("cpu", "memory", "hugepages-2Mi", "app")): made_up(node.item, chance, depth + 1)
                for _ in range(chance.choice((0, 1, 2)))
            }
        case shape:
            return copy.deepcopy(chance.choice(SCALARS[shape]))


@pytest.mark.parametrize("key", DEFAULTS, ids="/".join)
def test_defaults_are_there_for_a_kind_that_exists(key):
    assert known_in(key)


@pytest.mark.parametrize("key", DEFAULTS, ids="/".join)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_what_is_filled_in_is_known_and_stays(key, data, seed):
    caps = data.draw(servers(known_in(key)))
    known = codec(caps.version)
    node = known.schema.find_kind_type(*key)
    obj = known.decode(node, made_up(node, random.Random(seed)), DecodingState())

    DEFAULTS[key](obj, caps)
    once = copy.deepcopy(obj)
    DEFAULTS[key](obj, caps)
    assert obj == once, "defaulting again changed something"

    found = DecodingState()
    assert known.decode(node, copy.deepcopy(obj), found) == once, "a reader would see something else"
    assert not found.has_unknown_fields


@pytest.mark.parametrize("key", DEFAULTS, ids="/".join)
def test_an_empty_object_is_filled_in(key):
    for version in known_in(key):
        node = codec(version).schema.find_kind_type(*key)
        obj = codec(version).decode(node, {}, DecodingState())
        DEFAULTS[key](obj, Capabilities(version))
        assert obj == codec(version).decode(node, copy.deepcopy(obj), DecodingState())


@pytest.mark.parametrize("key", STAMPS, ids="/".join)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_what_was_stamped_stays(key, data, seed):
    known = codec(data.draw(st.sampled_from(known_in(key))))
    node = known.schema.find_kind_type(*key)
    obj = known.decode(node, made_up(node, random.Random(seed)), DecodingState())
    STAMPS[key](obj, NOW)
    once = copy.deepcopy(obj)
    STAMPS[key](obj, NOW.replace(year=2030))
    assert obj == once
    assert known.decode(node, copy.deepcopy(obj), DecodingState()) == once
