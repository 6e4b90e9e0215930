"""Use the examples of docs/contributing.md as they are written there."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from mockkube.api.strategy_dependencies import StrategyDependencies
from mockkube.controllers import catalogue as controllers
from mockkube.scenario.runner import catalogue as steps
from mockkube.scenario.runner.loading import parse
from mockkube.scenario.runner.results import RunOutcome
from mockkube.scenario.runner.scenario_runner import ScenarioRun, play
from mockkube.scheduler import catalogue as plugins

PAGE = (Path(__file__).parents[2] / "docs" / "contributing.md").read_text()
_HEAD = "apiVersion: mockkube.dev/v1alpha1\nkind: Scenario\nmetadata: {name: example}\nspec:\n"


def example(name: str) -> Any:
    """Return the module of an example."""
    module: dict[str, Any] = {"__name__": f"example_{name.removesuffix('.py')}"}
    [text] = re.findall(rf"`{re.escape(name)}`(?:(?!```).)*?\n\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(text, name, "exec", dont_inherit=True), module)
    return SimpleNamespace(**module)


async def run_scenario(text: str) -> None:
    [scenario] = parse(_HEAD + text)
    result = await play(ScenarioRun(scenario))
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


def test_a_kind_validates_its_objects() -> None:
    kind = example("greeting.py").KIND
    strategy, context = kind.strategy(StrategyDependencies()), SimpleNamespace()
    assert [str(error) for error in strategy.validate({}, context)] == ["text: Required value"]
    assert strategy.validate({"text": "hello"}, context) == []


async def test_a_scheduler_plugin_receives_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = plugins.PluginEntry("ReservedNodes", example("reserved_nodes.py").ReservedNodes)
    monkeypatch.setattr(plugins, "PLUGINS", (*plugins.PLUGINS, entry))
    monkeypatch.setattr(plugins, "_BY_NAME", {**plugins._BY_NAME, entry.name: entry})
    [configuration] = re.findall(r"```yaml\n(apiVersion: kubescheduler.*?)```", PAGE, re.DOTALL)
    config = yaml.safe_load(configuration)
    await run_scenario(f"""
  cluster: {{nodes: 2, components: {{kube-scheduler: {{flags: {{config: {config}}}}}}}}}
  steps:
  - kubectl: label node node-1 owner=search
  - create: {{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{containers: [{{name: c, image: i}}]}}}}
  - assert: {{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{nodeName: node-2}}}}
  - kubectl: label node node-2 owner=ads
  - create: {{apiVersion: v1, kind: Pod, metadata: {{name: other}}, spec: {{containers: [{{name: c, image: i}}]}}}}
  - expectEvent: {{reason: FailedScheduling, message: node(s) were reserved for team search, about: {{name: other}}}}
""")


async def test_a_controller_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = example("config_map_ttl.py").ConfigMapTTLController
    entry = controllers.ControllerDescriptor(controller.name, "", controllers.construct_one(controller))
    monkeypatch.setattr(controllers, "CONTROLLERS", (*controllers.CONTROLLERS, entry))
    config_map = "apiVersion: v1, kind: ConfigMap, metadata: {name: short"
    await run_scenario(f"""
  cluster: {{}}
  steps:
  - create: {{{config_map}, annotations: {{example.dev/ttl-seconds: "60"}}}}}}
  - advance: 58s
  - assert: {{{config_map}}}}}
  - advance: 3s
  - error: {{{config_map}}}}}
""")


async def test_a_scenario_step_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    step = example("cordon.py").Cordon
    monkeypatch.setitem(steps.VERBS, step.verb, step)
    await run_scenario("""
  cluster: {nodes: 1}
  steps:
  - cordon: node-1
  - assert: {apiVersion: v1, kind: Node, metadata: {name: node-1}, spec: {unschedulable: true}}
""")


def test_a_command_prints_the_gates_of_a_version() -> None:
    result = CliRunner().invoke(example("gates.py").command, ["--version", "1.36"], standalone_mode=False)
    assert "TaintTolerationCEL" not in result.output
    assert "NodeInclusionPolicyInPodTopologySpread" in result.output.splitlines()


def test_each_addition_names_its_catalogue() -> None:
    root = Path(__file__).parents[2]
    for path in re.findall(r"`((?:\w+/)+\w+\.py)`", PAGE):
        places = (root / "mockkube" / path, root / path, root / "storage" / "mockkube_storage" / path)
        assert any(place.exists() for place in places), path
