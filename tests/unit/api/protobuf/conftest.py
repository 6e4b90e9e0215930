"""One schema and one codec for all tests: they are compiled once and never changed."""

import pytest

from mockkube.api.decoding.codec import Codec
from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.api.schema import Schema
from mockkube.features.versions import Version


@pytest.fixture(scope="session")
def schema() -> Schema:
    return Schema(Version(1, 36))


@pytest.fixture(scope="session")
def codec(schema: Schema) -> Codec:
    return Codec(schema)


@pytest.fixture(scope="session")
def protobuf(schema: Schema) -> ProtobufSerializer:
    return ProtobufSerializer(schema)
