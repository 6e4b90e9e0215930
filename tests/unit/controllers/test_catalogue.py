import pytest

from mockkube.controllers.catalogue import CONTROLLERS, find_unknown_names
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

ENTRIES = {entry.name: entry for entry in CONTROLLERS}


@pytest.mark.parametrize(
    ("chosen", "runs"),
    [
        pytest.param(["*"], True, id="all"),
        pytest.param([], False, id="none"),
        pytest.param(["job-controller"], True, id="by its name"),
        pytest.param(["job"], True, id="by its alias"),
        pytest.param(["*", "-job"], False, id="all but this"),
        pytest.param(["-job", "job"], False, id="the first that names it counts"),
        pytest.param(["cronjob"], False, id="another"),
    ],
)
def test_a_controller_is_chosen(chosen, runs):
    assert ENTRIES["job-controller"].is_enabled(chosen, Capabilities()) is runs


def test_some_are_off_unless_they_are_named():
    entry = ENTRIES["bootstrap-signer-controller"]
    assert not entry.is_enabled(["*"], Capabilities())
    assert entry.is_enabled(["*", "bootstrapsigner"], Capabilities())


def test_a_controller_runs_only_with_its_gates():
    entry = ENTRIES["taint-eviction-controller"]
    assert not entry.is_enabled(["*"], Capabilities())
    assert entry.is_enabled(["*"], Capabilities(gates=frozenset({"SeparateTaintEvictionController"})))


def test_a_controller_runs_only_in_versions_that_have_it():
    entry, gates = ENTRIES["podgroup-protection-controller"], frozenset({"GenericWorkload"})
    assert not entry.is_enabled(["*"], Capabilities(Version(1, 35), gates))
    assert entry.is_enabled(["*"], Capabilities(Version(1, 36), gates))


def test_names_nobody_knows_are_told():
    assert find_unknown_names(["*", "job", "-podgc", "jobs", "-nothing"]) == ["jobs", "-nothing"]


def test_names_and_aliases_are_unique():
    names = [name for entry in CONTROLLERS for name in (entry.name, entry.alias) if name]
    assert len(names) == len(set(names))
