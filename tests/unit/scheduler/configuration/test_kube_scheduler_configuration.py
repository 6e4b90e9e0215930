"""KubeSchedulerConfiguration: what is assumed, merged, refused."""

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import DEFAULT
from mockkube.scheduler.configuration.kube_scheduler_configuration import (
    ClientLimits,
    SchedulerConfigurationError,
    parse_configuration,
)

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
HEAVY = {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}
CAPS = Capabilities(DEFAULT, enabled_gates(DEFAULT, component="kube-scheduler"))


def profile(**fields):
    return parse_configuration({**HEAD, "profiles": [fields]}, CAPS).profiles[0]


def enabled(settings, point="multiPoint"):
    return [(one.name, one.weight) for one in settings.plugins[point].enabled]


def test_nothing_said_is_one_profile_with_all_plugins_in_order():
    configuration = parse_configuration(HEAD, CAPS)
    (settings,) = configuration.profiles
    assert settings.name == "default-scheduler"
    assert [name for name, weight in enabled(settings) if weight] == [
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
    ]
    assert (
        configuration.percentage_of_nodes_to_score,
        configuration.backoff.initial_seconds,
        configuration.backoff.seconds_max,
    ) == (
        0,
        1,
        10,
    )


@pytest.mark.parametrize(
    ("connection", "limits"),
    [
        (None, None),
        ({"kubeconfig": "/etc/kubernetes/scheduler.conf"}, None),
        ({"qps": 0, "burst": 0}, None),
        ({"qps": 5000, "burst": 6000}, ClientLimits(5000, 6000)),
        ({"qps": 7.5}, ClientLimits(7.5, 100)),
        ({"burst": 10}, ClientLimits(50, 10)),
        ({"qps": -1}, ClientLimits(-1, 100)),
    ],
)
def test_the_client_has_the_limits_of_the_configuration(connection, limits):
    assert parse_configuration({**HEAD, "clientConnection": connection}, CAPS).client_limits == limits


def test_a_disabled_plugin_is_gone():
    assert "ImageLocality" not in dict(
        enabled(profile(plugins={"multiPoint": {"disabled": [{"name": "ImageLocality"}]}}))
    )


def test_a_plugin_named_anew_keeps_its_place_and_takes_the_weight():
    plugins = {"multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 7}]}}
    assert enabled(profile(plugins=plugins))[4:6] == [("TaintToleration", 3), ("NodeAffinity", 7)]


def test_all_can_be_disabled_and_some_named():
    plugins = {
        "multiPoint": {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": "PrioritySort"}, {"name": "NodeName"}, {"name": "DefaultBinder"}],
        }
    }
    assert [name for name, _ in enabled(profile(plugins=plugins))] == ["PrioritySort", "NodeName", "DefaultBinder"]


def test_arguments_are_filled_in():
    config = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]
    settings = profile(pluginConfig=config)
    assert settings.arguments["NodeResourcesFit"]["scoringStrategy"] == {
        "type": "MostAllocated",
        "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
    }
    assert settings.arguments["VolumeBinding"] == {"bindTimeoutSeconds": 600}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"kind": "Pod"}, 'no kind "Pod" is registered for version ""', id="another kind"),
        pytest.param({**HEAD, "color": 1}, 'strict decoding error: unknown field "color"', id="an unknown field"),
        pytest.param(
            {**HEAD, "percentageOfNodesToScore": 101},
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
            id="a percentage above a hundred",
        ),
        pytest.param(
            {**HEAD, "podInitialBackoffSeconds": 5, "podMaxBackoffSeconds": 2},
            "podMaxBackoffSeconds: Invalid value: 2: must be greater than or equal to PodInitialBackoffSeconds",
            id="a longest pause below the first",
        ),
        pytest.param(
            {**HEAD, "profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
            'profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName"',
            id="two profiles of one name",
        ),
        pytest.param(
            {**HEAD, "profiles": [{"schedulerName": "a"}, {}]},
            "profiles[1].schedulerName: Required value",
            id="no name",
        ),
        pytest.param(
            {**HEAD, "profiles": [{"plugins": {"filter": {"enabled": [{"name": "Nothing"}]}}}]},
            'profiles[0].plugins.filter.enabled[0]: Invalid value: "Nothing": no plugin has this name',
            id="an unknown plugin",
        ),
        pytest.param(
            {
                **HEAD,
                "profiles": [{"pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}]}],
            },
            "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
            id="bad arguments",
        ),
        pytest.param(
            {**HEAD, "parallelism": 0},
            "parallelism: Invalid value: 0: should be an integer value greater than zero",
            id="nobody at work",
        ),
        pytest.param(
            {**HEAD, "profiles": [{"plugins": {"score": {"enabled": [{"name": "NodeAffinity", "weight": -1}]}}}]},
            "total score of Score plugins could overflow",
            id="a weight below zero",
        ),
        pytest.param(
            {**HEAD, "profiles": [{"pluginConfig": [{"name": "EBSLimits"}]}]},
            'profiles[0].pluginConfig[0]: Invalid value: "EBSLimits": was invalid in version "v1"',
            id="arguments of a plugin that is gone",
        ),
        pytest.param(
            {**HEAD, "extenders": [{"urlPrefix": "x"}]}, "extenders: Forbidden: are not supported", id="extenders"
        ),
    ],
)
def test_what_cannot_be_used_is_refused(given, message):
    with pytest.raises(SchedulerConfigurationError) as refused:
        parse_configuration(given, CAPS)
    assert message in str(refused.value)


def test_everything_wrong_is_told_at_once():
    given = {**HEAD, "podInitialBackoffSeconds": 0, "percentageOfNodesToScore": -1}
    with pytest.raises(SchedulerConfigurationError) as refused:
        parse_configuration(given, CAPS)
    assert len(refused.value.errors) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"profiles": 5}, "profiles: Invalid value: 5: must be a list", id="no list"),
        pytest.param({"profiles": [None]}, "profiles[0]: Required value", id="nothing in a list"),
        pytest.param(
            {"profiles": [{"plugins": {"filter": {"enabled": [{}]}}}]},
            "profiles[0].plugins.filter.enabled[0].name: Required value",
            id="no name",
        ),
        pytest.param(
            {"profiles": [{"pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": "1"}}]}]},
            'profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: "1": must be an integer',
            id="text for a number",
        ),
        pytest.param(
            {"profiles": [{"plugins": {"score": {"enabled": [{"name": "NodeAffinity", "weight": 2**31}]}}}]},
            "profiles[0].plugins.score.enabled[0].weight: Invalid value: 2147483648: must be an integer",
            id="a number beyond 32 bits",
        ),
        pytest.param(
            {"leaderElection": {"leaderElect": 1}},
            "leaderElection.leaderElect: Invalid value: 1: must be true or false",
            id="in what has no meaning here",
        ),
        pytest.param(
            {"profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": {"shape": [3]}}]}]},
            "profiles[0].pluginConfig[0].args.shape[0]: Invalid value: 3: must be an object",
            id="no object among arguments",
        ),
    ],
)
def test_what_is_of_the_wrong_type_is_named(given, message):
    with pytest.raises(SchedulerConfigurationError) as caught:
        parse_configuration({**HEAD, **given}, CAPS)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"leaderElection": {"elect": True}}, 'unknown field "leaderElection.elect"', id="of an election"),
        pytest.param({"profiles": [{"color": 1}]}, 'unknown field "profiles[0].color"', id="of a profile"),
        pytest.param(
            {"profiles": [{"plugins": {"filter": {"enable": []}}}]},
            'unknown field "profiles[0].plugins.filter.enable"',
            id="of a point",
        ),
        pytest.param(
            {"profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": {"soft": []}}}]}]},
            "decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin NodeAffinity: "
            'strict decoding error: unknown field "addedAffinity.soft"',
            id="of arguments",
        ),
    ],
)
def test_fields_that_nobody_knows_are_refused_however_deep(given, message):
    with pytest.raises(SchedulerConfigurationError) as caught:
        parse_configuration({**HEAD, **given}, CAPS)
    assert str(caught.value) == f"strict decoding error: {message}"


@pytest.mark.parametrize("kind", ["NodeResourcesFitArgs", "Pod"])
def test_arguments_that_are_said_to_be_of_another_plugin_are_refused(kind):
    config = [{"name": "NodeAffinity", "args": {"apiVersion": HEAD["apiVersion"], "kind": kind}}]
    with pytest.raises(
        SchedulerConfigurationError, match=f"args for plugin NodeAffinity were not of type .*, got {kind}"
    ):
        parse_configuration({**HEAD, "profiles": [{"pluginConfig": config}]}, CAPS)


def test_arguments_of_plugins_that_take_none_are_ignored():
    config = [{"name": "NodeName", "args": {"a": 1}}, {"name": "OfOnesOwn", "args": {"b": 2}}]
    assert parse_configuration({**HEAD, "profiles": [{"pluginConfig": config}]}, CAPS).profiles[0].plugins


def test_null_is_as_if_nothing_were_said():
    assert parse_configuration({**HEAD, "podMaxBackoffSeconds": None, "profiles": None}, CAPS) == parse_configuration(
        HEAD, CAPS
    )
