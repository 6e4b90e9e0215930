"""KubeSchedulerConfiguration: what is assumed, merged, refused."""

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import effective
from mockkube.features.versions import DEFAULT
from mockkube.scheduler.configuration import ConfigurationError, default, read

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
HEAVY = {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}
CAPS = Capabilities(DEFAULT, effective(DEFAULT, component="kube-scheduler"))


def profile(**fields):
    return read({**HEAD, "profiles": [fields]}, CAPS).profiles[0]


def enabled(settings, point="multiPoint"):
    return [(one.name, one.weight) for one in settings.plugins[point].enabled]


def test_nothing_said_is_one_profile_with_all_plugins_in_order():
    configuration = default(CAPS)
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
    assert (configuration.percentage, configuration.backoff.initial_seconds, configuration.backoff.seconds_max) == (
        0,
        1,
        10,
    )


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
            {**HEAD, "extenders": [{"urlPrefix": "x"}]}, "extenders: Forbidden: are not supported", id="extenders"
        ),
    ],
)
def test_what_cannot_be_used_is_refused(given, message):
    with pytest.raises(ConfigurationError) as refused:
        read(given, CAPS)
    assert message in str(refused.value)


def test_everything_wrong_is_told_at_once():
    given = {**HEAD, "podInitialBackoffSeconds": 0, "percentageOfNodesToScore": -1}
    with pytest.raises(ConfigurationError) as refused:
        read(given, CAPS)
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
            {"profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": {"shape": [3]}}]}]},
            "profiles[0].pluginConfig[0].args.shape[0]: Invalid value: 3: must be an object",
            id="no object among arguments",
        ),
    ],
)
def test_what_is_of_the_wrong_type_is_named(given, message):
    with pytest.raises(ConfigurationError) as caught:
        read({**HEAD, **given}, CAPS)
    assert str(caught.value) == message


def test_null_is_as_if_nothing_were_said():
    assert read({**HEAD, "podMaxBackoffSeconds": None, "profiles": None}, CAPS) == default(CAPS)
