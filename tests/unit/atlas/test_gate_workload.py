"""Workloads of gates from files: a mistake is reported with its place and the remedy."""

from pathlib import Path

import pytest

from mockkube.atlas.gate_trial import make_trial
from mockkube.atlas.gate_workload import load_reasons, load_workload
from mockkube.scenario.errors import ScenarioError

HEAD = "apiVersion: mockkube.dev/v1alpha1\nkind: GateWorkload\nmetadata: {name: EnvFiles}\nspec:\n  feature: Files.\n"
POD = "  workload: [{apiVersion: v1, kind: Pod, metadata: {name: web}}]\n"


def write(folder: Path, text: str, name: str = "EnvFiles") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def test_a_workload(tmp_path: Path) -> None:
    workload = load_workload(write(tmp_path, f"{HEAD}{POD}  seconds: 1m\n  do: [restart: kubelet]\n"))
    assert (workload.gate, workload.seconds, workload.actions) == ("EnvFiles", 60, ({"restart": "kubelet"},))
    trial = make_trial(workload)
    assert trial is not None
    assert trial.components == ("kube-apiserver",)
    assert [sorted(state) for state in trial.list_states()] == [[], ["kube-apiserver"]]


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        pytest.param(HEAD, "EnvFiles", "nothing uses the gate: give `workload`", id="nothing"),
        pytest.param(HEAD + POD, "Other", "the gate 'EnvFiles' belongs into a file of its name", id="another file"),
        pytest.param(f"{HEAD}  do: [dance: {{}}]\n", "EnvFiles", "'dance' is no step of plans", id="no step"),
        pytest.param(f"{HEAD}{POD}  version: '0.9'\n", "EnvFiles", r"EnvFiles\.yaml:\d+: spec: ", id="version"),
        pytest.param(f"{HEAD}{POD}  sekunds: 3\n", "EnvFiles", "did you mean 'seconds'", id="misspelt"),
        pytest.param(f"{HEAD}---\n{HEAD}", "EnvFiles", "2 documents: give one", id="two documents"),
    ],
)
def test_a_mistake(tmp_path: Path, text: str, name: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        load_workload(write(tmp_path, text, name))


def test_a_gate_has_one_reason(tmp_path: Path) -> None:
    text = "apiVersion: mockkube.dev/v1alpha1\nkind: GatesNotPlayed\ngroups:\n"
    groups = "".join(f"- {{reason: {reason}, gates: [EnvFiles]}}\n" for reason in ("a", "b"))
    write(tmp_path, text + groups, "not-played")
    with pytest.raises(ScenarioError, match="EnvFiles is listed twice"):
        load_reasons(tmp_path)


def test_a_locked_gate_cannot_be_tried(tmp_path: Path) -> None:
    text = (HEAD + POD).replace("EnvFiles", "SidecarContainers")
    assert make_trial(load_workload(write(tmp_path, text, "SidecarContainers"))) is None
