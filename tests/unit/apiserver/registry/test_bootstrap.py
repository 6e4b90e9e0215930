from mockkube.apiserver.registry import deletion
from mockkube.apiserver.registry.bootstrap import APISERVER_USER, bootstrap
from mockkube.apiserver.registry.options import DeleteOptions
from mockkube.apiserver.registry.resource import RequestScope


def names(registry, group, plural):
    return sorted(record.name for record in registry.find_storage_resource(group, plural).collection.objects.values())


def load(registry, group, plural, namespace, name):
    return registry.find_storage_resource(group, plural).get_cached(namespace, name).load()


async def test_a_new_cluster_has_four_namespaces(registry):
    await bootstrap(registry)
    assert names(registry, "", "namespaces") == ["default", "kube-node-lease", "kube-public", "kube-system"]


async def test_the_api_has_a_service_at_the_first_address(registry):
    await bootstrap(registry, address="192.0.2.9", port=7443)
    service = load(registry, "", "services", "default", "kubernetes")
    assert service["spec"]["clusterIP"] == "10.0.0.1"
    assert service["spec"]["ports"] == [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 7443}]
    assert service["metadata"]["labels"] == {"provider": "kubernetes", "component": "apiserver"}
    endpoints = load(registry, "", "endpoints", "default", "kubernetes")
    ports = [{"name": "https", "port": 7443, "protocol": "TCP"}]
    assert endpoints["subsets"] == [{"addresses": [{"ip": "192.0.2.9"}], "ports": ports}]
    endpoint_slice = load(registry, "discovery.k8s.io", "endpointslices", "default", "kubernetes")
    assert endpoint_slice["endpoints"] == [{"addresses": ["192.0.2.9"], "conditions": {"ready": True}}]


async def test_the_system_has_priority_classes(registry):
    await bootstrap(registry)
    group = "scheduling.k8s.io"
    values = [
        load(registry, group, "priorityclasses", "", name)["value"]
        for name in names(registry, group, "priorityclasses")
    ]
    assert names(registry, group, "priorityclasses") == ["system-cluster-critical", "system-node-critical"]
    assert values == [2_000_000_000, 2_000_001_000]


async def test_flow_schemas_lead_to_levels_that_exist(registry):
    await bootstrap(registry)
    group = "flowcontrol.apiserver.k8s.io"
    levels = names(registry, group, "prioritylevelconfigurations")
    schemas = [
        record.load() for record in registry.find_storage_resource(group, "flowschemas").collection.objects.values()
    ]
    assert len(schemas) == 11
    assert {schema["spec"]["priorityLevelConfiguration"]["name"] for schema in schemas} <= {*levels}
    assert {schema["status"]["conditions"][0]["status"] for schema in schemas} == {"False"}


async def test_who_wrote_a_condition_is_told(registry):
    await bootstrap(registry)
    schema = load(registry, "flowcontrol.apiserver.k8s.io", "flowschemas", "", "exempt")
    written = [(one["manager"], one["operation"]) for one in schema["metadata"]["managedFields"]]
    prefix = "api-priority-and-fairness-config"
    assert written == [(f"{prefix}-consumer-v1", "Apply"), (f"{prefix}-producer-v1", "Update")]


async def test_it_is_noted_since_when_the_use_of_old_tokens_is(registry):
    await bootstrap(registry)
    tracking = load(registry, "", "configmaps", "kube-system", "kube-apiserver-legacy-service-account-token-tracking")
    assert tracking["data"] == {"since": tracking["metadata"]["creationTimestamp"][:10]}


async def test_the_range_of_service_addresses_is_ready(registry):
    await bootstrap(registry)
    service_cidr = load(registry, "networking.k8s.io", "servicecidrs", "", "kubernetes")
    assert service_cidr["spec"]["cidrs"] == ["10.0.0.0/24"]
    assert service_cidr["status"]["conditions"][0]["type"] == "Ready"


async def test_servers_behind_this_one_learn_who_signs_for_clients(registry):
    await bootstrap(registry, authority="PEM")
    config_map = load(registry, "", "configmaps", "kube-system", "extension-apiserver-authentication")
    assert config_map["data"] == {"client-ca-file": "PEM"}


async def test_starting_again_changes_nothing(registry):
    await bootstrap(registry)
    revision = registry.dependencies.store.revision
    await bootstrap(registry)
    assert registry.dependencies.store.revision == revision


async def test_what_is_missing_comes_back(registry):
    await bootstrap(registry)
    services = registry.find_storage_resource("", "services")
    await deletion.delete(services, RequestScope(APISERVER_USER, "default", "kubernetes"), DeleteOptions())
    await bootstrap(registry)
    assert load(registry, "", "services", "default", "kubernetes")["spec"]["clusterIP"] == "10.0.0.1"
