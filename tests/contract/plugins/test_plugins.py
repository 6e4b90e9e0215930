"""What every plugin of the catalogue keeps to, whatever it is about."""

from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mockkube.client.informer import InformerFactory
from mockkube.client.protocol import ObjectList, Selection
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import DEFAULT, NEWEST, OLDEST, Version
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.taints import TaintRules
from mockkube.runtime.clock import RealClock
from mockkube.runtime.steps import Signal
from mockkube.scheduler.catalogue import PLUGINS, PluginEntry, default_plugins
from mockkube.scheduler.configuration.arguments import set_defaults, validate_arguments
from mockkube.scheduler.framework.cache import Cache
from mockkube.scheduler.framework.events import ClusterEventWithHint
from mockkube.scheduler.framework.interface import (
    SCORE_MAX,
    CycleState,
    FilterPlugin,
    Plugin,
    PluginDependencies,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
)
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator
from mockkube.scheduler.framework.status import Code

DOCUMENT = (Path(__file__).parents[3] / "docs" / "scheduler.md").read_text()
ENTRIES = [pytest.param(entry, id=entry.name) for entry in PLUGINS]
RICH = {
    "containers": [
        {"name": "c", "image": "app", "ports": [{"hostPort": 80}], "resources": {"requests": {"cpu": "1"}}},
    ],
    "nodeSelector": {"zone": "a"},
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    },
}
PLAIN = {"containers": [{"name": "c", "image": "app"}]}
PODS = [pytest.param(PLAIN, id="plain"), pytest.param(RICH, id="rich")]


class Empty:
    """A server that has nothing."""

    async def list(self, kind: str, selection: Selection) -> ObjectList:
        return ObjectList([], "1")

    async def watch(self, kind: str, selection: Selection, after: str) -> Any:
        return SimpleNamespace(ready=lambda: False, bell=Signal())


def pod(spec: Any) -> PodInfo:
    metadata = {"name": "p", "namespace": "a", "uid": "p", "labels": {"app": "web"}}
    return PodInfo({"metadata": metadata, "spec": spec, "status": {}})


def nodes(caps: Capabilities) -> Cache:
    picture = Cache(PodRequestCalculator(caps))
    for name, zone in (("n1", "a"), ("n2", "b")):
        room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        labels = {"zone": zone, "kubernetes.io/hostname": name}
        picture.set_node({"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"allocatable": room}})
    picture.add_pod(
        PodInfo({"metadata": {"name": "x", "namespace": "a", "uid": "x"}, "spec": {**RICH, "nodeName": "n1"}})
    )
    return picture


def capabilities(version: Version = DEFAULT) -> Capabilities:
    return Capabilities(version, enabled_gates(version, component="kube-scheduler"))


async def build(entry: PluginEntry, picture: Cache, caps: Capabilities) -> Plugin:
    client: Any = Empty()
    caches = InformerFactory(client, RealClock(), owner="kube-scheduler")
    expressions = ExpressionCache()
    context = PluginDependencies(
        caps=caps,
        clock=RealClock(),
        client=client,
        informers=caches,
        nodes=picture,
        taints=TaintRules(expressions=expressions.compile_expression),
        selector_operators={},
        device_taints=TaintRules(),
    )
    plugin = entry.factory(context, set_defaults(entry.name, {}, caps))
    for cache in caches.workers:
        await cache.step()
    return plugin


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_plugin_is_described(entry: PluginEntry) -> None:
    assert f"\n| `{entry.name}` |" in DOCUMENT
    assert entry.factory.__doc__


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_arguments_that_are_assumed_are_valid(entry: PluginEntry) -> None:
    caps = capabilities()
    assert validate_arguments(entry.name, set_defaults(entry.name, {}, caps), "args", caps) == []


@pytest.mark.parametrize("version", [OLDEST, DEFAULT, NEWEST], ids=str)
@pytest.mark.parametrize("entry", ENTRIES)
async def test_a_plugin_is_built_at_every_version(entry: PluginEntry, version: Version) -> None:
    caps = capabilities(version)
    plugin = await build(entry, nodes(caps), caps)
    assert plugin.name == entry.name
    assert all(isinstance(interest, ClusterEventWithHint) for interest in plugin.events_to_register())


@pytest.mark.parametrize("entry", ENTRIES)
async def test_a_plugin_with_a_score_has_a_weight(entry: PluginEntry) -> None:
    caps = capabilities()
    scores = isinstance(await build(entry, nodes(caps), caps), ScorePlugin)
    assert scores is bool(entry.weight) or entry.name == "VolumeBinding"


@pytest.mark.parametrize("spec", PODS)
@pytest.mark.parametrize("entry", ENTRIES)
async def test_filters_answer_the_same_twice_and_change_nothing(entry: PluginEntry, spec: Any) -> None:
    caps = capabilities()
    picture = nodes(caps)
    plugin = await build(entry, picture, caps)
    before = [(node.generation, node.requested.copy(), dict(node.pods)) for node in picture.all]
    answers = []
    for _ in range(2):
        state, info = CycleState(), pod(spec)
        found = plugin.pre_filter(state, info, picture).status if isinstance(plugin, PreFilterPlugin) else None
        assert found is None or found.code in (Code.SUCCESS, Code.SKIP)
        left_out = found is not None and found.code is Code.SKIP
        if isinstance(plugin, FilterPlugin) and not left_out:
            answers.append([plugin.filter(state, info, node) for node in picture.all])
    assert answers[:1] == answers[1:]
    assert [(node.generation, node.requested.copy(), dict(node.pods)) for node in picture.all] == before


def with_volume(**source: Any) -> Any:
    return {**PLAIN, "volumes": [{"name": "v", **source}]}


SKIPPED_OR_NOT = [
    *PODS,
    pytest.param(with_volume(secret={"secretName": "s"}), id="secret"),
    pytest.param(with_volume(persistentVolumeClaim={"claimName": "c"}), id="claim"),
    pytest.param(with_volume(ephemeral={"volumeClaimTemplate": {"spec": {}}}), id="generated claim"),
    pytest.param(with_volume(awsElasticBlockStore={"volumeID": "disk"}), id="disk"),
    pytest.param({**PLAIN, "topologySpreadConstraints": []}, id="no constraints"),
    pytest.param(
        {
            **PLAIN,
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
            ],
        },
        id="soft constraint",
    ),
    pytest.param(
        {
            **PLAIN,
            "affinity": {
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}
                    ]
                }
            },
        },
        id="preferred nodes",
    ),
]


@pytest.mark.parametrize("spec", SKIPPED_OR_NOT)
@pytest.mark.parametrize("entry", ENTRIES)
async def test_a_plugin_that_skips_a_spec_would_skip_its_pods(entry: PluginEntry, spec: Any) -> None:
    caps = capabilities()
    picture = nodes(caps)
    plugin = await build(entry, picture, caps)
    if isinstance(plugin, PreFilterPlugin) and plugin.skips_pre_filter(spec):
        assert plugin.pre_filter(CycleState(), pod(spec), picture).status.code is Code.SKIP


@pytest.mark.parametrize("spec", SKIPPED_OR_NOT)
@pytest.mark.parametrize("entry", ENTRIES)
async def test_a_plugin_whose_code_follows_from_a_spec_has_it_for_its_pods(entry: PluginEntry, spec: Any) -> None:
    caps = capabilities()
    picture = nodes(caps)
    plugin = await build(entry, picture, caps)
    if isinstance(plugin, PreScorePlugin) and (code := plugin.find_pre_score_code(spec)) is not None:
        info, state = pod(spec), CycleState()
        if isinstance(plugin, PreFilterPlugin):
            plugin.pre_filter(state, info, picture)
        before = [copy(getattr(state, name)) for name in CycleState.__slots__]
        assert plugin.pre_score(state, info, picture.all).code is code
        assert [getattr(state, name) for name in CycleState.__slots__] == before


async def test_what_most_plugins_decide_about_plain_pods_follows_from_their_spec() -> None:
    caps = capabilities()
    plugins = [await build(entry, nodes(caps), caps) for entry in PLUGINS]
    assert {one.name for one in plugins if isinstance(one, PreFilterPlugin) and one.skips_pre_filter(PLAIN)} == {
        "NodeAffinity",
        "NodeDeclaredFeatures",
        "NodePorts",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    }
    codes = {one.name: one.find_pre_score_code(PLAIN) for one in plugins if isinstance(one, PreScorePlugin)}
    assert {name: code for name, code in codes.items() if code is not None} == {
        "NodeAffinity": Code.SKIP,
        "NodeResourcesFit": Code.SUCCESS,
        "TaintToleration": Code.SUCCESS,
        "VolumeBinding": Code.SKIP,
    }


@pytest.mark.parametrize("spec", PODS)
@pytest.mark.parametrize("entry", ENTRIES)
async def test_scores_lie_within_bounds(entry: PluginEntry, spec: Any) -> None:
    caps = capabilities()
    picture = nodes(caps)
    plugin = await build(entry, picture, caps)
    if not isinstance(plugin, ScorePlugin):
        return
    state, info = CycleState(), pod(spec)
    if isinstance(plugin, PreFilterPlugin):
        plugin.pre_filter(state, info, picture)
    if isinstance(plugin, PreScorePlugin) and plugin.pre_score(state, info, picture.all).code is Code.SKIP:
        return
    scores = [plugin.score(state, info, node) for node in picture.all]
    plugin.normalize(state, info, picture.all, scores)
    assert all(0 <= score <= SCORE_MAX for score in scores)


@pytest.mark.parametrize("entry", ENTRIES)
async def test_giving_back_what_was_never_taken_does_no_harm(entry: PluginEntry) -> None:
    caps = capabilities()
    plugin = await build(entry, nodes(caps), caps)
    if isinstance(plugin, ReservePlugin):
        plugin.unreserve(CycleState(), pod(PLAIN), "n1")
        assert plugin.reserve(CycleState(), pod(PLAIN), "n1").is_success


def names(version: str, **gates: bool) -> list[str]:
    parsed = Version.parse(version)
    return [entry.name for entry in default_plugins(Capabilities(parsed, enabled_gates(parsed, gates)))]


def test_plugins_appear_with_their_gates() -> None:
    assert "DynamicResources" not in names("1.33")
    assert "DynamicResources" in names("1.34")
    assert "NodeDeclaredFeatures" not in names("1.35")
    assert names("1.36")[-1] == "NodeDeclaredFeatures"


def test_from_1_37_on_the_name_of_a_node_is_looked_at_before_its_cordon() -> None:
    assert names("1.36").index("NodeUnschedulable") < names("1.36").index("NodeName")
    assert names("1.37").index("NodeName") < names("1.37").index("NodeUnschedulable")
