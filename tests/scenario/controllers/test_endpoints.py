"""Where services lead: Endpoints, EndpointSlices, and slices that mirror Endpoints."""

import pytest

from mockkube.client.protocol import DELETE_DEFAULT

MIRRORED = "endpointslicemirroring-controller.k8s.io"


@pytest.fixture
async def leading(sim):
    await sim.start("endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller")
    await sim.node("n1", labels={"topology.kubernetes.io/zone": "z1"})
    return sim


async def serving(sim, name, ip, *, ready="True", **spec):
    await sim.pod(name, on="n1", metadata={"labels": {"app": "x"}}, spec=spec)
    now = sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": now}
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [condition]}
    await sim.status("Pod", name, status)


async def service(sim, name="svc", **spec):
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    await sim.create("Service", name, spec={"selector": {"app": "x"}, "ports": ports, **spec})


async def slices(sim, name="svc"):
    found = await sim.all("EndpointSlice", "default")
    return [one for one in found if one["metadata"]["labels"]["kubernetes.io/service-name"] == name]


async def states(sim):
    (one,) = await slices(sim)
    return {endpoint["addresses"][0]: tuple(endpoint["conditions"].values()) for endpoint in one.get("endpoints") or ()}


async def test_endpoints_tell_ready_pods_from_others(leading):
    await serving(leading, "a", "10.1.0.1")
    await serving(leading, "b", "10.1.0.2", ready="False")
    await service(leading)
    endpoints = await leading.get("Endpoints", "svc")
    (subset,) = endpoints["subsets"]
    assert [one["ip"] for one in subset["addresses"]] == ["10.1.0.1"]
    assert [one["ip"] for one in subset["notReadyAddresses"]] == ["10.1.0.2"]
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert endpoints["metadata"]["labels"] == {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}


async def test_a_slice_shows_the_state_of_each_pod(leading):
    await serving(leading, "a", "10.1.0.1")
    await serving(leading, "b", "10.1.0.2", ready="False")
    await service(leading)
    (one,) = await slices(leading)
    assert one["metadata"]["generateName"] == "svc-"
    assert one["addressType"] == "IPv4"
    assert one["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert one["endpoints"][0]["zone"] == "z1"
    assert await states(leading) == {"10.1.0.1": (True, True, False), "10.1.0.2": (False, False, False)}


async def test_a_terminating_pod_still_serves_and_is_not_ready(leading):
    await serving(leading, "a", "10.1.0.1")
    await service(leading)
    await leading.delete("Pod", "a", options=DELETE_DEFAULT)
    assert await states(leading) == {"10.1.0.1": (False, True, True)}
    assert "subsets" not in await leading.get("Endpoints", "svc")


async def test_a_service_without_pods_has_an_empty_slice(leading):
    await service(leading)
    (one,) = await slices(leading)
    assert not one.get("endpoints")
    await serving(leading, "a", "10.1.0.1")
    assert await states(leading) == {"10.1.0.1": (True, True, False)}


async def test_a_slice_that_somebody_spoilt_is_mended_after_a_second(leading):
    await serving(leading, "a", "10.1.0.1")
    await service(leading)
    (one,) = await slices(leading)
    await leading.merge("EndpointSlice", one["metadata"]["name"], {"endpoints": []})
    await leading.advance(0.9)
    assert await states(leading) == {}
    await leading.advance(0.2)
    assert await states(leading) == {"10.1.0.1": (True, True, False)}


async def test_a_hundred_endpoints_fill_a_slice(leading):
    await service(leading)
    for number in range(101):
        await serving(leading, f"p{number}", f"10.1.0.{number + 1}")
    assert sorted(len(one["endpoints"]) for one in await slices(leading)) == [1, 100]


async def test_named_ports_are_found_in_each_pod(leading):
    container = {"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": 9090}]}
    await serving(leading, "a", "10.1.0.1", containers=[container])
    await service(leading, ports=[{"port": 80, "targetPort": "web"}])
    (subset,) = (await leading.get("Endpoints", "svc"))["subsets"]
    assert subset["ports"] == [{"port": 9090, "protocol": "TCP"}]


async def test_a_headless_service_names_its_pods(leading):
    await serving(leading, "a", "10.1.0.1", hostname="db-0", subdomain="svc")
    await service(leading, clusterIP="None")
    (one,) = await slices(leading)
    assert one["endpoints"][0]["hostname"] == "db-0"
    assert one["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


async def test_traffic_that_stays_close_is_hinted_at(leading):
    await serving(leading, "a", "10.1.0.1")
    await service(leading, trafficDistribution="PreferClose")
    (one,) = await slices(leading)
    assert one["endpoints"][0]["hints"] == {"forZones": [{"name": "z1"}]}
    await leading.merge("Service", "svc", {"spec": {"trafficDistribution": None}})
    (one,) = await slices(leading)
    assert "hints" not in one["endpoints"][0]


async def test_endpoints_kept_by_hand_are_mirrored(leading):
    await leading.create("Service", "ext", spec={"ports": [{"port": 80}]})
    subset = {"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80, "name": "p"}]}
    await leading.create("Endpoints", "ext", subsets=[subset])
    (one,) = await slices(leading, "ext")
    assert one["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] == MIRRORED
    assert one["endpoints"] == [{"addresses": ["192.0.2.1"], "conditions": {"ready": True}}]
    await leading.delete("Endpoints", "ext")
    assert await slices(leading, "ext") == []


async def test_what_is_shown_says_since_when_it_is_so(leading):
    await serving(leading, "a", "10.1.0.1")
    await leading.advance(10)
    await service(leading)
    (one,) = await slices(leading)
    assert one["metadata"]["annotations"] == {
        "endpoints.kubernetes.io/last-change-trigger-time": "2030-01-01T00:00:00Z"
    }


async def test_a_slice_that_takes_in_other_ports_keeps_how_its_name_was_made(leading):
    await service(leading, ports=[{"port": 80, "targetPort": "web"}])
    (empty,) = await slices(leading)
    containers = [{"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": 8080}]}]
    await serving(leading, "a", "10.1.0.1", containers=containers)
    (one,) = await slices(leading)
    assert one["ports"][0]["port"] == 8080
    assert one["metadata"]["name"] == empty["metadata"]["name"]
    assert one["metadata"]["generateName"] == "svc-"


async def test_endpoints_of_a_service_that_calls_itself_headless_are_written_at_every_change(leading):
    await leading.create(
        "Service",
        "svc",
        metadata={"labels": {"service.kubernetes.io/headless": ""}},
        spec={"selector": {"app": "x"}, "ports": [{"port": 80}]},
    )
    first = await leading.get("Endpoints", "svc")
    assert "endpoints.kubernetes.io/last-change-trigger-time" in first["metadata"]["annotations"]
    await leading.pod("waiting", on="n1", metadata={"labels": {"app": "x"}})
    assert "annotations" not in (await leading.get("Endpoints", "svc"))["metadata"]


async def test_pods_on_nodes_that_are_gone_are_told_of_in_one_event(leading):
    for name, ip in (("a", "10.1.0.1"), ("b", "10.1.0.2")):
        await serving(leading, name, ip)
    await leading.delete("Node", "n1")
    await service(leading)
    told = [f"skipping Pod {name} for Service default/svc: Node n1 Not Found" for name in ("a", "b")]
    messages = {message for _, message, _ in await leading.events("svc", "FailedToUpdateEndpointSlices")}
    assert messages == {f"Error updating Endpoint Slices for Service default/svc: [{', '.join(told)}]"}


async def test_endpoints_without_a_service_stay_until_the_next_start(leading):
    await leading.create("Endpoints", "custom", subsets=[{"addresses": [{"ip": "10.1.0.9"}], "ports": [{"port": 80}]}])
    lock = {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}}
    await leading.create("Endpoints", "lock", metadata=lock)
    await leading.merge("Endpoints", "custom", {"metadata": {"labels": {"a": "b"}}})
    await leading.advance(60)
    assert {"custom", "lock"} <= set(await leading.names("Endpoints", "default"))
    await leading.start("endpoints-controller")
    assert "custom" not in await leading.names("Endpoints", "default")
    assert "lock" in await leading.names("Endpoints", "default")
