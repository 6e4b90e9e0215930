"""Objects that the real API server has stored are served as if they had been stored here."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mockkube_storage.engines.memory import MemoryStore

from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.apiserver.registry.upstream_values import decode_upstream_value, is_upstream_value
from mockkube.apiserver.server import ApiServer, ApiServerOptions
from mockkube.client.identity import controller_manager
from mockkube.client.protocol import Key
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT
from mockkube.proposals.component_extensions import make_schema
from mockkube.proposals.loading import default_trains
from mockkube.runtime.clock import RealClock
from mockkube.runtime.random import Random

PROTOBUF = ProtobufSerializer(make_schema(Capabilities().version, default_trains()))
CRD = {
    "kind": "CustomResourceDefinition",
    "apiVersion": "apiextensions.k8s.io/v1beta1",
    "metadata": {"name": "widgets.example.com", "uid": "1"},
    "spec": {
        "group": "example.com",
        "version": "v1",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "validation": {"openAPIV3Schema": {"type": "object"}},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Age", "type": "date", "JSONPath": ".metadata.creationTimestamp"}],
        "versions": [{"name": "v1", "served": True, "storage": True}, {"name": "v2", "served": True, "storage": False}],
        "conversion": {"strategy": "None", "conversionReviewVersions": ["v1"]},
        "preserveUnknownFields": False,
    },
}


def test_a_crd_of_v1beta1_has_its_common_fields_in_each_version() -> None:
    found = decode_upstream_value(json.dumps(CRD).encode(), PROTOBUF, "apiextensions.k8s.io/v1")
    common = {
        "schema": {"openAPIV3Schema": {"type": "object"}},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
    }
    assert found["apiVersion"] == "apiextensions.k8s.io/v1"
    assert found["spec"] == {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [
            {**common, "name": "v1", "served": True, "storage": True},
            {**common, "name": "v2", "served": True, "storage": False},
        ],
        "conversion": {"strategy": "None"},
        "preserveUnknownFields": False,
    }


def test_a_crd_of_v1beta1_keeps_its_conversion_webhook() -> None:
    conversion = {
        "strategy": "Webhook",
        "webhookClientConfig": {"url": "https://x/"},
        "conversionReviewVersions": ["v1"],
    }
    spec: dict[str, Any] = {"version": "v1", "conversion": conversion}
    value = json.dumps({**CRD, "spec": spec}).encode()
    assert decode_upstream_value(value, PROTOBUF, "apiextensions.k8s.io/v1")["spec"] == {
        "versions": [{"name": "v1", "served": True, "storage": True}],
        "conversion": {
            "strategy": "Webhook",
            "webhook": {"clientConfig": {"url": "https://x/"}, "conversionReviewVersions": ["v1"]},
        },
    }


def test_values_of_this_server_are_none_of_the_real_one() -> None:
    assert is_upstream_value(b'{"kind":"Widget"}\n')
    assert is_upstream_value(b"k8s\0\n")
    assert not is_upstream_value(b'1.36+abc\n{"kind":"Pod"}')
    assert not is_upstream_value(b"")


@pytest.fixture
async def store() -> AsyncIterator[MemoryStore]:
    async with MemoryStore() as opened:
        yield opened


async def test_what_the_real_api_server_stored_is_served_and_can_be_changed(store: MemoryStore) -> None:
    metadata = {"namespace": "default", "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": "b"}}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, "name": "a"}, "data": {"k": "v"}}
    autoscaler = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {**metadata, "name": "h"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}},
    }
    await store.create("/registry/core/configmaps/default/a", PROTOBUF.encode(config_map))
    await store.create("/registry/core/configmaps/default/damaged", PROTOBUF.encode(config_map)[:-5])
    await store.create("/registry/autoscaling/horizontalpodautoscalers/default/h", PROTOBUF.encode(autoscaler))
    options = ApiServerOptions(Authenticator({}), disable_admission=("ServiceAccount",))
    server = ApiServer(store=store, options=options, clock=RealClock(), random=Random.from_seed(1, "server"))
    await server.start()
    endpoint = LocalEndpoint()
    endpoint.open(server)
    client = LocalClient(endpoint, controller_manager(DEFAULT))
    try:
        found = await client.get("ConfigMap", Key("default", "a"))
        assert found["data"] == {"k": "v"}
        assert found["metadata"]["labels"] == {"a": "b"}
        assert found["metadata"]["resourceVersion"] == "2"
        changed = await client.patch("ConfigMap", Key("default", "a"), {"data": {"k": "w"}})
        assert (changed["metadata"]["uid"], changed["data"]) == ("1", {"k": "w"})
        assert (await client.get("HorizontalPodAutoscaler", Key("default", "h")))["spec"]["maxReplicas"] == 3
        await client.delete("ConfigMap", Key("default", "damaged"))
    finally:
        await server.stop()
