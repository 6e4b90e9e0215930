import pytest

from mockkube.apiserver.admission import catalogue
from mockkube.apiserver.admission.plugins.always_deny import AlwaysDeny


def names(plugins):
    return [plugin.name for plugin in plugins]


def test_a_server_starts_with_the_plugins_that_are_on():
    built = names(catalogue.build_plugins())
    assert "NamespaceLifecycle" in built
    assert "AlwaysDeny" not in built


def test_plugins_run_in_the_order_of_the_catalogue():
    order = [entry.name for entry in catalogue.PLUGINS]
    built = names(catalogue.build_plugins(enable=["AlwaysDeny"]))
    assert built == sorted(built, key=order.index)
    assert built[-1] == "AlwaysDeny"


def test_a_disabled_plugin_is_left_out():
    assert "ServiceAccount" not in names(catalogue.build_plugins(disable=["ServiceAccount"]))


def test_a_plugin_without_behaviour_may_be_named():
    assert names(catalogue.build_plugins(enable=["ImagePolicyWebhook"])) == names(catalogue.build_plugins())


@pytest.mark.parametrize("entry", [entry for entry in catalogue.PLUGINS if entry.make], ids=lambda entry: entry.name)
def test_a_plugin_bears_the_name_it_is_listed_under(entry):
    assert entry.make().name == entry.name


def test_a_plugin_with_options_takes_the_place_of_the_default_one():
    built = catalogue.build_plugins(
        disable=["Priority"], configured={"AlwaysDeny": AlwaysDeny, "NamespaceLifecycle": AlwaysDeny}
    )
    assert names(built)[0] == "AlwaysDeny"
    assert names(built).count("AlwaysDeny") == 1  # the catalogue leaves it disabled, whoever makes it


@pytest.mark.parametrize(
    ("enable", "disable", "message"),
    [
        pytest.param(["X"], [], 'enable-admission-plugins plugin "X" is unknown', id="enabling one nobody knows"),
        pytest.param([], ["Y"], 'disable-admission-plugins plugin "Y" is unknown', id="disabling one nobody knows"),
        pytest.param(
            ["PodSecurity", "LimitRanger"],
            ["PodSecurity", "LimitRanger"],
            "[LimitRanger PodSecurity] in enable-admission-plugins and disable-admission-plugins overlapped",
            id="doing both",
        ),
    ],
)
def test_lists_that_make_no_sense_are_refused(enable, disable, message):
    with pytest.raises(ValueError, match="admission-plugins") as caught:
        catalogue.build_plugins(enable, disable)
    assert str(caught.value) == message
