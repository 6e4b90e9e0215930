"""Proposals from files, entry points and programs: what is loaded, what is refused and how, who else gets it."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from mockkube.cluster.configuration.cluster_configuration import resolve_configuration
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.features.stages import GateStage, Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.proposals import loading
from mockkube.proposals.catalogue import TRAINS
from mockkube.proposals.proposal import Proposal
from mockkube.proposals.validation import ProposalError

HEAD = """
from mockkube.features.stages import GateStage, Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.proposals.proposal import *

def proposal(gate="Own", **rest):
    stages = (GateStage(Version(1, 36), Maturity.ALPHA, False),)
    return Proposal(kep=9999, gate=gate, **{"train": ReleaseTrain(gate, stages=stages), **rest})

POD = "io.k8s.api.core.v1.PodSpec"

def check(item, at):
    return []
"""
GOOD = HEAD + "PROPOSAL = proposal()\n"


@pytest.fixture
def write(tmp_path):
    """Write a Python file, and return its path."""

    def write(text, name="own.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_file_brings_its_proposal(write):
    path = write(GOOD)
    [proposal] = loading.load_file(path)
    assert (proposal.gate, proposal.origin) == ("Own", str(path))


def test_a_file_may_import_names_of_the_past(write):
    imports = "from mockkube.api.types import ReadOnlyObject\nfrom mockkube.features.stages import Stage\n"
    assert loading.load_file(write(imports + GOOD))


def test_a_file_may_bring_several(write):
    assert [one.gate for one in loading.load_file(write(HEAD + "PROPOSALS = [proposal('A'), proposal('B')]\n"))] == [
        "A",
        "B",
    ]


def test_a_file_is_loaded_once_and_again_when_it_has_changed(write):
    first = loading.load_file(write(GOOD))
    assert loading.load_file(write(GOOD)) is not None
    changed = loading.load_file(write(HEAD + "PROPOSAL = proposal('Other')\n"))
    assert [first[0].gate, changed[0].gate] == ["Own", "Other"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("def (:\n", ":1: not valid Python: invalid syntax: correct it", id="no Python"),
        pytest.param(
            "\nimport absent_module\n",
            ":2: No module named 'absent_module': install what it imports, or put it on PYTHONPATH",
            id="an import that fails",
        ),
        pytest.param("1 / 0\n", ":1: ZeroDivisionError: division by zero: correct it", id="code that fails"),
        pytest.param("raise SystemExit(3)\n", ":1: SystemExit: 3: correct it", id="code that ends the process"),
        pytest.param(
            "X = 1\n",
            ": no PROPOSAL: assign a mockkube.proposals.proposal.Proposal to PROPOSAL, or several to PROPOSALS",
            id="no PROPOSAL",
        ),
        pytest.param(
            "PROPOSAL = 3\n",
            ": PROPOSAL is int: assign a mockkube.proposals.proposal.Proposal to PROPOSAL, or several to PROPOSALS",
            id="no proposal",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal('PodLevelResources')\n",
            ": gate PodLevelResources is one of Kubernetes already: give the proposal a gate of its own",
            id="a gate of Kubernetes",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal('TaintTolerationCEL')\n",
            ": gate TaintTolerationCEL is declared by KEP-5500 already: leave one out, or give it another name",
            id="a gate of a built-in proposal",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal(train=None)\n",
            ": gate Own has no release train: give train=ReleaseTrain(GATE, stages=(GateStage(...),))",
            id="no train",
        ),
        pytest.param(
            HEAD
            + "PROPOSAL = proposal(train=ReleaseTrain('Own', stages=(GateStage(Version(1, 37), Maturity.BETA, True), "
            "GateStage(Version(1, 36), Maturity.ALPHA, False))))\n",
            ": stages of Own: 1.36 comes after 1.37: order them by version",
            id="stages out of order",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal(train=ReleaseTrain('Other', stages=proposal().train.stages))\n",
            ": the train is that of gate 'Other', the proposal has 'Own': name the same in both",
            id="another gate's train",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal(tolerations={'SemverGt': Operator(check, by_pair(lambda a, b: True))})\n",
            ": toleration operator SemverGt is declared by KEP-5721 already: leave one out, or give it another name",
            id="an operator of a built-in proposal",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal(node_selectors={'In': Operator(check, by_pair(lambda a, b: True))})\n",
            ": node_selectors: operator 'In' is built in: give it another name",
            id="a built-in operator",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal(tolerations={'Prefix': Operator(check, lambda one, other: True)})\n",
            ": tolerations: 'Prefix' has a test of another shape: wrap the function in by_pair or by_values",
            id="a test that is not wrapped",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal(fields={'v1.PodSpec': {'own': Field({'type': 'string'})}})\n",
            ": fields: no type is called 'v1.PodSpec': did you mean 'io.k8s.api.core.v1.PodSpec'?",
            id="an unknown type",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal(fields={POD: {'priority': Field({'type': 'string'})}})\n",
            ": fields: io.k8s.api.core.v1.PodSpec has 'priority' already in 1.37: give it another name",
            id="a field there is",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal(fields={POD: {'own': Field({'type': 'text'})}})\n",
            ": fields: io.k8s.api.core.v1.PodSpec.own: type 'text' in its schema: give one of string, integer, "
            "boolean, number, array, object, or a $ref",
            id="a schema that is none",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal(checks={'Deployment': ObjectCheck(check)})\n",
            ": checks: no kind is called 'Deployment': did you mean 'Deployment.apps'?",
            id="an unknown kind",
        ),
        pytest.param(
            HEAD + "PROPOSAL = proposal(checks={'Pod': ObjectCheck()})\n",
            ": checks: 'Pod' checks nothing: give check, transition or both",
            id="a check that checks nothing",
        ),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_says_where_why_and_what_to_do(write, text, says):
    path = write(text)
    with pytest.raises(ProposalError) as caught:
        loading.load_file(path)
    assert str(caught.value) == f"{path}{says}"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("absent.py", "No such file or directory: give a Python file that holds PROPOSAL", id="absent"),
        pytest.param(".", "not a file: give a Python file that holds PROPOSAL", id="a directory"),
    ],
)
def test_what_is_no_file_is_refused(tmp_path, name, says):
    with pytest.raises(ProposalError) as caught:
        loading.load_file(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: {says}"


def test_nothing_is_left_of_a_file_that_failed(write):
    before = set(sys.modules)
    with pytest.raises(ProposalError):
        loading.load_file(write(GOOD + "1 / 0\n"))
    assert {name for name in sys.modules if name.startswith("mockkube_proposal_own")} <= before


def test_two_files_with_one_gate_do_not_go_together(write):
    one, other = write(GOOD, "one.py"), write(GOOD, "other.py")
    with pytest.raises(ConfigurationError) as caught:
        resolve_configuration({"proposals": [str(one), str(other)]}, {})
    assert str(caught.value) == (
        f"--proposal: {other}: gate Own is declared by {one} already: leave one out, or give it another name"
    )


def test_flags_variables_and_file_add_up(write, tmp_path):
    one, two, three = (write(HEAD + f"PROPOSAL = proposal('{gate}')\n", f"{gate}.py") for gate in "ABC")
    config = tmp_path / "c.yaml"
    config.write_text(f"apiVersion: mockkube.dev/v1alpha1\nkind: ClusterConfiguration\nproposals: [{three}]\n")
    configuration = resolve_configuration({"proposals": (str(one),)}, {"MOCKKUBE_PROPOSALS": f"{one},{two}"}, config)
    assert [train.gate for train in configuration.release_trains[len(TRAINS) :]] == ["C", "A", "B"]


def test_release_trains_may_send_it_elsewhere(write):
    stages = [{"version": "1.38", "maturity": "Beta"}]
    configuration = resolve_configuration(
        {"proposals": [write(GOOD)], "release_trains": [{"gate": "Own", "stages": stages}]}, {}
    )
    [train] = [one for one in configuration.release_trains if one.gate == "Own"]
    assert (train.proposal.gate, [str(stage.version) for stage in train.stages]) == ("Own", ["1.38"])


def test_without_it_nothing_is_different():
    assert resolve_configuration({}, {}).release_trains == TRAINS == loading.default_trains()


def test_a_process_has_the_proposals_of_its_command_line_and_no_longer(write):
    path = write(GOOD)
    with loading.proposals_from_files([path]):
        assert [one.gate for one in loading.default_proposals()] == ["Own"]
        assert os.environ[loading.ENVIRONMENT_VARIABLE] == str(path)
    assert loading.default_proposals() == ()
    assert loading.ENVIRONMENT_VARIABLE not in os.environ


def test_a_proposal_is_loaded_again_where_it_is_sent(write):
    [proposal] = loading.load_file(write(GOOD))
    assert pickle.loads(pickle.dumps(proposal)) is proposal
    program = "import sys, pickle; print(pickle.load(sys.stdin.buffer).gate)"
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(proposal), capture_output=True)
    assert done.stdout == b"Own\n", done.stderr


def test_a_program_gives_proposals_as_objects():
    train = ReleaseTrain("FromHere", stages=(GateStage(Version(1, 36), Maturity.ALPHA, False),))
    proposal = Proposal(kep=1, gate="FromHere", train=train)
    assert resolve_configuration({"proposals": [proposal]}, {}).release_trains[-1].proposal is proposal
    with pytest.raises(ConfigurationError, match="--proposal: the proposal of Bad: gate Bad has no release train"):
        resolve_configuration({"proposals": [Proposal(kep=1, gate="Bad")]}, {})


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Install a distribution with an entry point."""

    def install(text, reference="own_module:PROPOSAL"):
        (tmp_path / "own_module.py").write_text(text)
        info = tmp_path / "own-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[mockkube.proposals]\nprefix = {reference}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        loading.load_installed.cache_clear()

    yield install
    loading.load_installed.cache_clear()
    sys.modules.pop("own_module", None)


@pytest.mark.parametrize("reference", ["own_module:PROPOSAL", "own_module"])
def test_an_installed_distribution_brings_its_proposal(distribution, reference):
    distribution(GOOD, reference)
    [proposal] = loading.default_proposals()
    assert (proposal.gate, proposal.origin) == ("Own", "entry point 'prefix' of own")
    assert "Own" in [train.gate for train in resolve_configuration({}, {}).release_trains]
    assert pickle.loads(pickle.dumps(proposal)) is proposal


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("import absent_module\n", "ModuleNotFoundError: No module named 'absent_module'", id="import"),
        pytest.param("X = 1\n", "AttributeError: module 'own_module' has no attribute 'PROPOSAL'", id="nothing there"),
    ],
)
def test_a_distribution_that_cannot_be_used_is_named(distribution, text, says):
    distribution(text)
    with pytest.raises(ProposalError) as caught:
        loading.default_proposals()
    assert str(caught.value) == f"entry point 'prefix' of own: {says}: correct or uninstall it"


def test_the_command_line_says_in_one_line_what_is_wrong(write):
    path = write("1 / 0\n")
    command = [sys.executable, "-m", "mockkube", "--proposal", str(path), "eval", "semver", "1.0.0", "2.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert (done.returncode, done.stderr) == (
        2,
        f"mockkube: {path}:1: ZeroDivisionError: division by zero: correct it\n",
    )
