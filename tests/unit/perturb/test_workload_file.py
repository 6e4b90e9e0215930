"""Workloads: manifests of a directory, and perturb.yaml."""

from pathlib import Path

import pytest

from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.perturb.workload_file import load_workload
from mockkube.perturb.workload_schema import make_workload_schema, render_schema
from mockkube.scenario.yaml_lines import read_file

CONFORMANCE = Path(__file__).parents[3] / "conformance"
HEAD = "apiVersion: mockkube.dev/v1alpha1\nkind: PerturbWorkload\n"
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: c}\n"


def config_map(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"


def test_files_are_steps_and_what_the_controller_needs_comes_first(tmp_path: Path) -> None:
    (tmp_path / "2-b.yaml").write_text(f"{config_map('b')}---\n{CRD}")
    (tmp_path / "1-a.yaml").write_text(config_map("a"))
    (tmp_path / "notes.txt").write_text("no manifest")
    workload = load_workload(tmp_path, ["true"])
    assert [one.description for one in workload.steps] == ["apply 1-a.yaml", "apply 2-b.yaml"]
    assert [one.verb for one in workload.setup] == ["apply", "wait"]
    assert workload.setup[0].arguments["resource"][0]["kind"] == "CustomResourceDefinition"
    assert (workload.processes[0].command, workload.configuration.nodes) == (("true",), 1)


def test_perturb_yaml_has_steps_processes_and_limits(tmp_path: Path) -> None:
    (tmp_path / "crd.yaml").write_text(CRD)
    (tmp_path / "a.yaml").write_text(config_map("a"))
    (tmp_path / "perturb.yaml").write_text(
        f"""{HEAD}spec:
  cluster: {{without: [scheduler]}}
  processes:
  - {{name: leader, command: [run, "{{kubeconfig}}"], replicas: 2}}
  - {{name: worker, command: [work], environment: {{A: b}}}}
  steps:
  - apply: {{file: a.yaml}}
  - delete: {{ref: ConfigMap/a}}
  invariants:
  - error: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}}}
  never:
  - {{kind: ConfigMap, data: {{x: "1"}}}}
  ignore: ["configmaps/a: data.time", "pods: status"]
  quiet: 3s
  patience: 1m
  perturbations: [crash, lag]
"""
    )
    workload = load_workload(tmp_path, [])
    assert [one.name for one in workload.processes] == ["leader-0", "leader-1", "worker"]
    assert workload.find_process("mockkube-perturb:leader-1") == "leader-1"
    assert [one.verb for one in workload.steps] == ["apply", "delete"]
    assert [one.verb for one in workload.setup] == ["apply", "wait"]
    assert [str(one) for one in workload.ignored][:2] == ["configmaps/a: data.time", "pods/*: status"]
    assert workload.never[0].matches({"kind": "ConfigMap", "metadata": {}, "data": {"x": "1", "y": "2"}})
    assert (workload.quiet_seconds, workload.patience_seconds, workload.kinds) == (3.0, 60.0, ("crash", "lag"))


@pytest.mark.parametrize(
    ("spec", "command", "message"),
    [
        pytest.param("{}", [], "no controller: give its command after --", id="no controller"),
        pytest.param(
            "{processes: [{name: a, command: [b]}]}",
            ["c"],
            "spec.processes: besides a command after --",
            id="two of them",
        ),
        pytest.param("{stepz: []}", ["c"], "unknown field: did you mean 'steps'?", id="misspelt"),
        pytest.param(
            "{perturbations: [crush]}",
            ["c"],
            "spec.perturbations[0]: 'crush' is no perturbation: known are crash",
            id="no kind",
        ),
        pytest.param("{ignore: [data.x]}", ["c"], "'data.x' has no path", id="no path"),
        pytest.param("{steps: [{aply: x}]}", ["c"], "did you mean 'apply'?", id="no step"),
        pytest.param("{}", ["c"], "nothing to do: give manifests, or perturb.yaml with spec.steps", id="no steps"),
        pytest.param("{cluster: {nods: 1}}", ["c"], ":3: spec.cluster.nods: unknown field", id="in the cluster"),
        pytest.param("{known: [{perturbations: [a], reason: ''}]}", ["c"], "spec.known[0]: give", id="no reason"),
        pytest.param("{never: [x]}", ["c"], "spec.never[0]: not a partial object", id="no object"),
        pytest.param("{processes: [{name: A b, command: [x]}]}", [], "spec.processes[0]: name: 'A b'", id="no name"),
        pytest.param(
            "{processes: [{name: a, command: [x]}, {name: a, command: [y]}]}", [], "given twice", id="one name twice"
        ),
        pytest.param("{processes: [{name: a, command: []}]}", [], "command: give a program", id="no program"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, spec: str, command: list[str], message: str) -> None:
    (tmp_path / "perturb.yaml").write_text(f"{HEAD}spec: {spec}\n")
    with pytest.raises(ConfigurationError) as refused:
        load_workload(tmp_path, command)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "empty: begin it with 'apiVersion: mockkube.dev/v1alpha1'", id="empty"),
        pytest.param("[1]", "not a mapping", id="list"),
        pytest.param("apiVersion: v1\nkind: Pod\n", "v1 Pod is no workload", id="manifest"),
        pytest.param(f"{HEAD}---\n{HEAD}", "2 documents: give one", id="two documents"),
    ],
)
def test_a_file_that_is_no_workload_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "perturb.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        load_workload(tmp_path, ["true"])
    assert message in str(refused.value)


def test_a_manifest_without_a_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("replicas: 3\n")
    with pytest.raises(ConfigurationError, match=r"values.yaml:1: no object of Kubernetes: give apiVersion and kind"):
        load_workload(tmp_path, ["true"])


def test_the_schema_beside_the_examples_is_current() -> None:
    assert (CONFORMANCE / "perturb.schema.json").read_text() == render_schema() + "\n"


@pytest.mark.parametrize("path", sorted((CONFORMANCE / "perturb").iterdir()), ids=lambda path: path.name)
def test_the_examples_are_valid_and_the_schema_knows_their_fields(path: Path) -> None:
    assert load_workload(path, []).steps
    spec = read_file(path / "perturb.yaml")[0]["spec"]
    known = make_workload_schema()["properties"]["spec"]["properties"]
    assert set(spec) <= set(known)
    for process in spec["processes"]:
        assert set(process) <= set(known["processes"]["items"]["properties"])


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such directory"):
        load_workload(tmp_path / "none", ["true"])
