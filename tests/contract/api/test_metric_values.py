"""custom.metrics.k8s.io and external.metrics.k8s.io: values from annotations, as adapters serve them."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
CUSTOM, EXTERNAL = "/apis/custom.metrics.k8s.io/v1beta2", "/apis/external.metrics.k8s.io/v1beta1"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator["Api"]:
    from tests.contract.api.conftest import Api

    async with Api.of_new_cluster(tmp_path_factory.mktemp("state"), metrics_api="on") as client:
        yield client


async def make(api: "Api", path: str, name: str, annotations: dict[str, str], **fields: Any) -> Any:
    return await api.create(
        path, {"metadata": {"name": name, "annotations": annotations, "labels": {"n": name}}, **fields}
    )


def below(lab: str, root: str = CUSTOM) -> str:
    return lab.replace("/api/v1", root)


async def test_an_object_has_the_value_of_its_annotation(api: "Api", lab: str) -> None:
    await make(api, f"{lab}/configmaps", "one", {"custom.metrics.mockkube.dev/hits": "2500m"})
    found = await api.get(f"{below(lab)}/configmaps/one/hits")
    assert (found["kind"], found["apiVersion"]) == ("MetricValueList", "custom.metrics.k8s.io/v1beta2")
    [item] = found["items"]
    namespace = lab.rpartition("/")[2]
    assert item["describedObject"] == {"kind": "ConfigMap", "namespace": namespace, "name": "one", "apiVersion": "/v1"}
    assert (item["metric"], item["value"]) == ({"name": "hits", "selector": None}, "2500m")
    [old] = (await api.get(f"{below(lab).replace('v1beta2', 'v1beta1')}/configmaps/one/hits"))["items"]
    assert (old["metricName"], old["selector"], "metric" in old) == ("hits", None, False)


async def test_all_objects_are_asked_at_once_and_selected_by_labels(api: "Api", lab: str) -> None:
    for name, value in (("b", "2"), ("a", "1")):
        await make(api, f"{lab}/configmaps", name, {"custom.metrics.mockkube.dev/hits": value})

    async def values(query: str) -> list[str]:
        return [one["value"] for one in (await api.get(f"{below(lab)}/configmaps/*/hits{query}"))["items"]]

    assert await values("") == ["1", "2"]
    assert await values("?labelSelector=n%3Db") == ["2"]
    assert await values("?labelSelector=n%3Dc") == []


async def test_a_selector_of_values_is_repeated_in_them(api: "Api", lab: str) -> None:
    await make(api, f"{lab}/configmaps", "one", {"custom.metrics.mockkube.dev/hits": "1"})
    query = "?metricLabelSelector=path%3Dhome,code%20in%20(200,204),!debug"
    [item] = (await api.get(f"{below(lab)}/configmaps/one/hits{query}"))["items"]
    assert item["metric"]["selector"] == {
        "matchLabels": {"path": "home"},
        "matchExpressions": [
            {"key": "code", "operator": "In", "values": ["200", "204"]},
            {"key": "debug", "operator": "DoesNotExist"},
        ],
    }


async def test_a_namespace_and_a_node_have_metrics_too(api: "Api", lab: str) -> None:
    annotation = {"metadata": {"annotations": {"custom.metrics.mockkube.dev/cost": "7"}}}
    await api.patch(lab, annotation)
    await make(api, "/api/v1/nodes", f"node-{lab.rpartition('/')[2]}", {"custom.metrics.mockkube.dev/heat": "60"})
    [item] = (await api.get(f"{below(lab)}/metrics/cost"))["items"]
    assert (item["describedObject"]["kind"], item["value"]) == ("Namespace", "7")
    [item] = (await api.get(f"{CUSTOM}/nodes/node-{lab.rpartition('/')[2]}/heat"))["items"]
    assert "namespace" not in item["describedObject"]
    assert (await api.ask("GET", f"{CUSTOM}/configmaps/one/heat")).status == 404


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("configmaps/one/nothing", "the server could not find the metric nothing for configmaps"),
        ("configmaps/*/nothing", "the server could not find the metric nothing for configmaps"),
        ("configmaps/none/hits", "the server could not find the metric hits for configmaps none"),
        ("configmaps/one", "the server could not find the requested resource"),
        ("nonsense/one/hits", "the server could not find the metric hits for nonsense"),
    ],
)
async def test_a_metric_that_does_not_exist(api: "Api", lab: str, path: str, message: str) -> None:
    await make(api, f"{lab}/configmaps", "one", {"custom.metrics.mockkube.dev/hits": "1"})
    answer = await api.ask("GET", f"{below(lab)}/{path}")
    assert (answer.status, answer.message) == (404, message)


async def test_a_malformed_annotation_is_reported_to_who_asks(api: "Api", lab: str) -> None:
    await make(api, f"{lab}/configmaps", "bad", {"custom.metrics.mockkube.dev/hits": "many"})
    answer = await api.ask("GET", f"{below(lab)}/configmaps/bad/hits")
    assert answer.status == 400
    assert answer.message.startswith("'many': 'many': quantities must match the regular expression")


async def test_external_metrics_have_the_values_of_the_namespace_and_of_autoscalers(api: "Api", lab: str) -> None:
    key = "external.metrics.mockkube.dev/queue"
    await api.patch(lab, {"metadata": {"annotations": {key: "{topic=mail}30,{topic=print}12"}}})
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 2}
    autoscalers = lab.replace("/api/v1", "/apis/autoscaling/v2") + "/horizontalpodautoscalers"
    await make(api, autoscalers, "web", {key: "5"}, spec=spec)

    async def values(query: str = "") -> list[tuple[dict[str, str], str]]:
        answer = await api.get(f"{below(lab, EXTERNAL)}/queue{query}")
        assert answer["kind"] == "ExternalMetricValueList"
        return [(one["metricLabels"], one["value"]) for one in answer["items"]]

    mail, own = ({"topic": "mail"}, "30"), ({"horizontalpodautoscaler": "web"}, "5")
    assert await values() == [mail, ({"topic": "print"}, "12"), own]
    assert await values("?labelSelector=topic%3Dmail") == [mail]
    assert await values("?labelSelector=topic%3Dnone") == []
    answer = await api.ask("GET", f"{below(lab, EXTERNAL)}/stack")
    assert (answer.status, answer.message) == (404, "the server could not find the metric stack for namespaces")


async def test_discovery_lists_the_metrics_that_there_are(api: "Api", lab: str) -> None:
    await make(api, f"{lab}/configmaps", "one", {"custom.metrics.mockkube.dev/seen": "1"})
    await api.patch(lab, {"metadata": {"annotations": {"external.metrics.mockkube.dev/depth": "1"}}})
    custom, external = await api.get(CUSTOM), await api.get(EXTERNAL)
    assert {
        "name": "configmaps/seen",
        "singularName": "",
        "namespaced": True,
        "kind": "MetricValueList",
        "verbs": ["get"],
    } in custom["resources"]
    assert "depth" in [one["name"] for one in external["resources"]]
    groups = {one["metadata"]["name"]: one for one in (await api.ask("GET", "/apis", accept=AGGREGATED)).json["items"]}
    versions = groups["custom.metrics.k8s.io"]["versions"]
    assert [one["version"] for one in versions] == ["v1beta2", "v1beta1"]
    [found] = [one for one in versions[0]["resources"] if one["resource"] == "configmaps"]
    assert "seen" in [one["subresource"] for one in found["subresources"]]


async def test_they_are_registered_as_those_of_an_adapter(api: "Api") -> None:
    for name, priority in (("v1beta2.custom", 200), ("v1beta1.custom", 100), ("v1beta1.external", 100)):
        spec = (await api.get(f"{API_SERVICES}/{name}.metrics.k8s.io"))["spec"]
        assert (spec["groupPriorityMinimum"], spec["versionPriority"]) == (100, priority)


async def test_values_can_only_be_read(api: "Api", lab: str) -> None:
    assert (await api.ask("POST", f"{below(lab)}/configmaps/one/hits", {})).status == 405
