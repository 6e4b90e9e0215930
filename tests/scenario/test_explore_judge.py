"""An independent judge of rollout plans: it plays each order beside a cluster that has changed from the start.

The definition is plain. Harm in an order is what users would not have met with on a cluster in which every component
has its new setting from the beginning and operators do the same: fewer ready pods of some kind, more pods that ended,
or objects that lack tolerations or node affinity that operators wrote. The judge shares no code with
`mockkube.explore`, and must agree with it on generated plans.

`make judge` plays 300 plans, with `MOCKKUBE_EXPLORE_PLANS`; `MOCKKUBE_EXPLORE_FIRST` skips some of them.
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from mockkube.api.errors import ApiError
from mockkube.client.protocol import Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.execution.step_trace import OPERATOR, TraceWrite
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.explore import exploration, players
from mockkube.explore.plans import loading
from mockkube.features.errors import FlagError
from mockkube.features.versions import Version
from mockkube.scenario.errors import ScenarioError, StepFailed
from mockkube.scenario.fields import SourceLocation, read
from mockkube.scenario.runner.catalogue import STEPS
from mockkube.scenario.simulated_world import SimulatedWorld
from mockkube.scenario.world import RunContext

CASES = sorted((Path(__file__).parent / "explore_cases").glob("*.yaml"))
# They take seconds each.
SLOW_CASES = (
    "edit-widens-a-toleration",
    "field-hidden-but-stored",
    "field-lost-in-a-template",
    "pending-pod-of-a-job-deleted",
    "pod-name-used-again",
)
PLANS = int(os.environ.get("MOCKKUBE_EXPLORE_PLANS", "6"))
FIRST = int(os.environ.get("MOCKKUBE_EXPLORE_FIRST", "0"))
VERSION = "1.36"
SINGLE = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet")
VERBS = {step.verb: step for step in STEPS}
Document = dict[str, Any]
Order = tuple[str, ...]


# The judge


@dataclass
class Cluster:
    """One of two clusters that are played side by side."""

    laboratory: SimulatedCluster
    world: SimulatedWorld
    ran: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)
    ended: Counter[str] = field(default_factory=Counter)
    worked: Counter[str] = field(default_factory=Counter)
    """How many pods of jobs have run."""
    owners: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By uid: the uid of the owner, and its name."""
    stored: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    made: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """All pods that there were."""
    lost: Counter[str] = field(default_factory=Counter)
    """How many writes of components took something away that operators chose, by what the object belongs to."""
    chosen: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Objects that no component made, as they are stored, by uid."""
    restarts: list[str] = field(default_factory=list)
    """When deployments were restarted."""
    seen: int = 0
    """How much of the trace has been read."""

    async def act(self, action: Document) -> str:
        """Play a step; return why it was not accepted, or nothing."""
        [(verb, arguments)] = action.items()
        try:
            await read(VERBS[verb], arguments, SourceLocation("judge", bindings=self.world.context.bindings)).play(
                self.world
            )
        except (StepFailed, ScenarioError, ApiError) as error:
            return str(error) or "refused"
        return ""

    async def create(self, manifest: Document) -> bool:
        """Create an object as users do; return whether it was accepted."""
        metadata = {"namespace": "default", **manifest["metadata"]}
        try:
            await self.world.client().create(manifest["kind"], {**manifest, "metadata": metadata})
        except ApiError:
            return False
        return True

    async def passes(self, seconds: float) -> None:
        """Let time pass, and see which pods end."""
        await self.laboratory.advance(seconds)
        self.look()

    def look(self) -> None:
        """Take in what has been stored of pods."""
        steps = self.laboratory.trace.steps
        for step in steps[self.seen :]:
            for write in step.writes:
                if write.load_object().get("kind") in MAKERS:
                    self._written(step.worker, write)
                if write.resource in ("apps/replicasets", "batch/jobs"):
                    self._own(write.load_object())
                elif write.resource == "apps/deployments":
                    self._restarted(write.load_object()["spec"]["template"]["metadata"])
                elif write.resource == "core/pods":
                    self._pod(write.verb, write.load_object())
        self.seen = len(steps)

    def _restarted(self, metadata: Mapping[str, Any]) -> int:
        """Return how many restarts of deployments there were up to that of a template."""
        at = metadata.get("annotations", {}).get("kubectl.kubernetes.io/restartedAt")
        if at and at not in self.restarts:
            self.restarts.append(at)
        return self.restarts.index(at) + 1 if at else 0

    def _written(self, worker: str, write: TraceWrite) -> None:
        """Take in that an object was written that is a pod or makes pods."""
        obj, before = write.load_object(), write.load_previous()
        metadata = obj["metadata"]
        if worker != OPERATOR and write.verb == "update" and before is not None and lacks(obj, before):
            self.lost[self.root(obj)] += 1
        if write.verb == "delete" or metadata.get("ownerReferences"):
            self.chosen.pop(metadata["uid"], None)
        else:
            self.chosen[metadata["uid"]] = obj

    def _own(self, obj: Mapping[str, Any]) -> None:
        metadata = obj["metadata"]
        owner = next((one["uid"] for one in metadata.get("ownerReferences", ()) if one.get("controller")), "")
        if owner:
            kind, name = next(
                (one["kind"], one["name"]) for one in metadata["ownerReferences"] if one.get("controller")
            )
            self.owners[metadata["uid"]] = (owner, f"{kind}/{name if not name.startswith('late-') else 'late-*'}")

    def root(self, pod: Mapping[str, Any]) -> str:
        """Return the name of what a pod, or an object that makes pods, belongs to."""
        metadata = pod["metadata"]
        self._own(pod)
        found = self.owners.get(metadata["uid"])
        if found is None:
            return f"{pod.get('kind', 'Pod')}/{metadata.get('generateName', metadata['name'])}"
        while found[0] in self.owners:
            found = self.owners[found[0]]
        return found[1]

    def _pod(self, verb: str, pod: Mapping[str, Any]) -> None:
        uid, status = pod["metadata"]["uid"], pod.get("status", {})
        self.stored[uid] = self.made[uid] = pod
        root = self.root(pod)
        if (
            status.get("phase") in ("Running", "Succeeded")
            and uid not in self.ran
            and root.startswith(("Job/", "CronJob/"))
        ):
            self.worked[root] += 1
        if verb == "delete":
            del self.stored[uid]
        if status.get("phase") in ("Running", "Succeeded"):
            self.ran.add(uid)
        disrupted = any(one["type"] == "DisruptionTarget" for one in status.get("conditions", ()))
        # A pod without a node never began: the garbage collector may mark it Failed after an operator has deleted it.
        ends = bool(pod["spec"].get("nodeName")) and (verb == "delete" or status.get("phase") == "Failed")
        if ends and uid not in self.over and (uid in self.ran or disrupted or status.get("phase") == "Failed"):
            self.over.add(uid)
            self.ended[root] += 1

    def ready(self) -> Counter[tuple[str, str]]:
        """Return how many pods are ready, by what they belong to and what they were made of."""
        counts: Counter[tuple[str, str]] = Counter()
        for pod in self.stored.values():
            conditions = pod.get("status", {}).get("conditions", ())
            going = pod["metadata"].get("deletionTimestamp")
            if not going and any(one["type"] == "Ready" and one["status"] == "True" for one in conditions):
                counts[self.root(pod), f"{signature(pod)} {self._restarted(pod['metadata'])}"] += 1
        return counts

    def pods(self) -> list[Any]:
        """Return all pods."""
        self.look()
        return list(self.stored.values())

    async def there(self) -> set[tuple[str, str]]:
        """Return all objects that make pods, with their versions."""
        kinds = dict.fromkeys(KINDS)
        lists = [(await self.world.client().list(kind)).items for kind in kinds]
        return {(obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]) for items in lists for obj in items}

    async def nodes(self) -> list[tuple[Any, Any]]:
        """Return what operators choose of nodes."""
        nodes = (await self.world.client().list("Node")).items
        return [(one["metadata"]["labels"], one["spec"]) for one in nodes]


def signature(pod: Mapping[str, Any]) -> str:
    """Return what operators choose of a pod in the plans below."""
    spec = pod["spec"]
    parts = (
        spec.get("tolerations", ()),
        spec.get("affinity", {}).get("nodeAffinity", {}),
        spec["containers"][0]["image"],
    )
    return json.dumps(parts if not _is_daemon(pod) else (parts[0], parts[2]), sort_keys=True)


def _name_of(obj: Mapping[str, Any]) -> str:
    return f"{obj['kind']}/{obj['metadata']['name']}"


def pod_spec(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the spec of a pod, or of the pods that an object makes."""
    spec: Mapping[str, Any] = obj["spec"]
    if obj["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return spec if obj["kind"] == "Pod" else spec["template"]["spec"]


def lacks(obj: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether an object lacks tolerations or node affinity that another has."""
    has, wanted = pod_spec(obj), pod_spec(other)
    gone = [one for one in wanted.get("tolerations") or () if one not in (has.get("tolerations") or ())]
    affinity, wanted_affinity = ((one.get("affinity") or {}).get("nodeAffinity") or {} for one in (has, wanted))
    return bool(gone) or affinity != wanted_affinity


def _is_waiting(pod: Mapping[str, Any]) -> bool:
    """Return whether a scheduler has to decide about a pod: it skips pods that are deleted or over."""
    status = pod.get("status", {})
    return not (
        pod["spec"].get("nodeName")
        or pod["metadata"].get("deletionTimestamp")
        or status.get("phase") in ("Failed", "Succeeded")
    )


def _is_daemon(pod: Mapping[str, Any]) -> bool:
    return any(one["kind"] == "DaemonSet" for one in pod["metadata"].get("ownerReferences", ()))


@dataclass
class Findings:
    """What the judge found in the two directions of a pair of orders."""

    harm: dict[str, list[str]]
    exercised: dict[str, set[str]]
    eventful: dict[str, bool]


@asynccontextmanager
async def started(plan: Document, before: bool) -> AsyncIterator[Cluster]:
    spec = plan["spec"]
    configuration = ClusterConfiguration(
        version=Version.parse(spec["version"]), nodes=len(spec["nodes"]), skew_policy="ignore"
    )
    async with SimulatedCluster(SimulatedClusterConfig(configuration)) as laboratory:
        world = SimulatedWorld(laboratory, RunContext({}, Path()))
        cluster = Cluster(laboratory, world)
        for name, change in spec["change"].items():
            await laboratory.change_component(
                name, **(settings_before(spec, change) if before else settings_after(change))
            )
        for number, node in enumerate(spec["nodes"], 1):
            patch = {"metadata": {"labels": node.get("labels", {})}, "spec": {"taints": node.get("taints", [])}}
            await world.client().patch("Node", Key("", f"node-{number}"), patch)
        for action in spec.get("setup", ()):
            await cluster.act(action)
        if not before:
            await promise(laboratory, spec)
        await laboratory.settle()
        yield cluster


async def promise(laboratory: SimulatedCluster, spec: Document) -> None:
    """Give the components that the plan leaves out what the API server promises."""
    server = laboratory.get_component_specs()["kube-apiserver"].settings
    for name in SINGLE:
        if name in spec["change"]:
            continue
        own = laboratory.get_component_specs()[name].settings
        version = max(own.version, server.version)
        gates = {**own.feature_gates, **server.feature_gates}
        try:
            ComponentSettings(name, version, gates, own.trains).validate()
        except FlagError:
            continue
        await laboratory.change_component(name, version=str(version), gates=dict(server.feature_gates))


def settings_before(spec: Document, change: Document) -> Document:
    origin = change.get("from", {})
    version = origin.get("version") or (spec["version"] if change.get("version") else None)
    return {"version": version, "gates": {**dict.fromkeys(change.get("gates", {})), **origin.get("gates", {})}}


def settings_after(change: Document) -> Document:
    origin = change.get("from", {})
    return {
        "version": change.get("version"),
        "gates": {**dict.fromkeys(origin.get("gates", {})), **change.get("gates", {})},
    }


async def judged(plan: Document, up: Order, down: Order, prepare: Sequence[Document] = ()) -> Findings:
    """Play a pair of orders beside the cluster that has changed from the start."""
    spec = plan["spec"]
    found = Findings({"up": [], "down": []}, {"up": set(), "down": set()}, {"up": False, "down": False})
    async with started(plan, before=True) as real, started(plan, before=False) as ideal:
        player = Player(spec, real, ideal, list(spec["workload"]))
        for phase, order in (("up", up), ("down", down)):
            if phase == "down":
                await player.compare("before down")
                player.passed = False
                found.harm["down"] += await player.disturb("down", "before-down")
                if prepare:
                    found.harm["down"] += await player.happen("preparation", prepare, "down")
                found.harm["down"] += await player.compare("before down")
                await player.exercised("down")
            changed: set[str] = set()
            for name in order:
                changed.add(name)
                setting = (
                    settings_after(spec["change"][name])
                    if phase == "up"
                    else settings_before(spec, spec["change"][name])
                )
                await real.laboratory.change_component(name, **setting)
                await ideal.laboratory.restart_component(name)
                player.begin(name)
                await player.step()
                found.harm[phase] += await player.disturb(phase, "every-step")
                found.harm[phase] += await player.compare(f"{name} {phase}")
                found.exercised[phase] |= changed & await player.exercised(phase)
                found.eventful[phase] = found.eventful[phase] or player.eventful
            if not found.eventful[phase]:
                found.exercised[phase] = set()
    return found


@dataclass
class Player:
    """Does the same on both clusters."""

    spec: Document
    real: Cluster
    ideal: Cluster
    pending: list[Document]
    eventful: bool = False
    wrote: bool = False
    refused: bool = False
    waited: bool = False
    passed: bool = False
    """Whether time has passed since a component changed or the way down began."""
    known: set[str] = field(default_factory=set)
    lost: set[tuple[str, str]] = field(default_factory=set)

    def begin(self, name: str) -> None:
        self.eventful = self.wrote = self.refused = False

    async def step(self) -> None:
        """Let users try again what was refused, and time pass."""
        self.passed = True
        for cluster in (self.real, self.ideal):
            await cluster.laboratory.settle()
        self.waited = any(map(_is_waiting, self.real.pods()))
        for manifest in list(self.pending):
            if await self.real.create(manifest):
                assert await self.ideal.create(manifest), "what is accepted before the change is accepted after it"
                self.pending.remove(manifest)
                self.eventful = self.wrote = True
        for cluster in (self.real, self.ideal):
            await cluster.passes(self.spec["seconds"])

    async def disturb(self, phase: str, when: str) -> list[str]:
        """Let happen what the plan says; return what is worse than on the ideal cluster before each disturbance."""
        found = []
        for one in self.spec.get("disturbances", ()):
            if one.get("when", "every-step") != when or phase not in one.get("phases", ("up", "down")):
                continue
            found += await self.happen(one["name"], one["do"], phase)
        return found

    async def happen(self, name: str, actions: Sequence[Document], phase: str) -> list[str]:
        """Play actions on both clusters, as far as the real one accepts them."""
        found = await self.compare(f"before {name}") if self.passed else []
        for action in actions:
            before, nodes = await self.real.there(), await self.real.nodes()
            complaint = await self.real.act(action)
            if not complaint:
                await self.ideal.act(action)
                [verb] = action
                changed = before != await self.real.there()
                about_nodes = nodes != await self.real.nodes()
                self.eventful = self.eventful or about_nodes or changed or verb == "restart"
                self.wrote = self.wrote or (changed and verb != "delete")
            elif "Invalid" in complaint and phase == "down":
                self.refused = "kube-apiserver" in self.spec["change"]
                self.eventful = self.eventful or self.refused
        await self.step()
        return found

    async def compare(self, at: str) -> list[str]:
        """Return what is worse than on the ideal cluster."""
        has, wanted = self.real.ready(), self.ideal.ready()
        found = [f"{at}: {key[0]}: {has[key]} ready, not {count}" for key, count in wanted.items() if has[key] < count]
        did, should = self.real.worked, self.ideal.worked
        found += [f"{at}: {name}: {did[name]} ran, not {n}" for name, n in should.items() if did[name] < n]
        ended, expected = self.real.ended, self.ideal.ended
        found += [f"{at}: {name}: {n} ended, not {expected[name]}" for name, n in ended.items() if n > expected[name]]
        found += [f"{at}: {name}: lost in {n} writes" for name, n in (self.real.lost - self.ideal.lost).items()]
        # What is stored counts: an older API server shows less of it, which is over when it has changed.
        here, there = ({_name_of(obj): obj for obj in one.chosen.values()} for one in (self.real, self.ideal))
        # Generated names do not say which object of one cluster is which of the other.
        there = {name: obj for name, obj in there.items() if "generateName" not in obj["metadata"]}
        found += [
            f"{at}: {name}: lacks what operators wrote"
            for name, obj in there.items()
            if name in here and lacks(here[name], obj)
        ]
        return found

    async def exercised(self, phase: str) -> set[str]:
        """Return the components that had something to decide in a step."""
        pods = self.real.pods()
        new = self.real.made.keys() - self.known
        created = bool(new)
        self.known |= new
        if created:
            self.eventful = True
        nodes = {one["metadata"]["name"]: one for one in (await self.real.world.client().list("Node")).items}
        evicting = {
            name
            for name, node in nodes.items()
            if any(one["effect"] == "NoExecute" for one in node["spec"].get("taints", ()))
        }
        found = set()
        if created or self.wrote or (self.refused and phase == "down"):
            found.add("kube-apiserver")
        if created or self.waited or any(map(_is_waiting, pods)):
            found.add("kube-scheduler")
        owned = any(self.real.made[uid]["metadata"].get("ownerReferences") for uid in new)
        daemons = (await self.real.world.client().list("DaemonSet")).items
        if owned or daemons or any(pod["spec"].get("nodeName") in evicting for pod in pods):
            found.add("kube-controller-manager")
        if any(
            pod["spec"].get("nodeName")
            for pod in pods
            if created or pod["status"].get("phase") in ("Pending", "Running")
        ):
            found.add("kubelet")
        return found


def disagreements(plan: Document) -> list[str]:
    """Return in what the judge and `explore` differ on a plan."""
    parsed = loading.parse(yaml.safe_dump(plan))
    explored = exploration.explore_plan(parsed, players.SequentialPlayer(parsed))
    orders = list(permutations(plan["spec"]["change"]))
    pairs = {(one.up, one.down): one for one in explored.pairs if not one.prepares}
    by_order = {(str(one.direction), one.order): one for one in explored.orders if not one.prepares}
    found = _prepared(plan, explored)
    for up, down in _sampled(orders):
        mine, theirs = asyncio.run(judged(plan, up, down)), pairs[up, down]
        found += _differing(f"up {up}", mine.harm["up"], theirs.up_result)
        if not mine.harm["up"] and theirs.up_result.is_safe:
            found += _differing(f"up {up}, down {down}", mine.harm["down"], theirs.down_result)
            for phase, order in (("up", up), ("down", down)):
                told = by_order[phase, order]
                if told.worst.is_safe and (idle := mine.exercised[phase] - set(told.worst.exercised)):
                    found.append(f"{phase} {order}: {idle} had something to decide, and is said to be not tried")
                if (
                    told.verdict is exploration.SafetyVerdict.SAFE
                    and not mine.eventful[phase]
                    and not mine.exercised[phase]
                ):
                    found.append(f"{phase} {order}: nothing happened, and it is said to be {told.verdict}")
    return found


def _prepared(plan: Document, explored: exploration.Exploration) -> list[str]:
    """Return in what the two differ on the orders down that are prepared."""
    found = []
    prepares = {one["name"]: one["prepare"] for one in plan["spec"].get("orders", ()) if one.get("prepare")}
    for pair in [one for one in explored.pairs if one.prepares][:2]:
        mine = asyncio.run(judged(plan, pair.up, pair.down, prepares[pair.prepares]))
        if not mine.harm["up"] and pair.up_result.is_safe:
            found += _differing(f"up {pair.up}, prepared down {pair.down}", mine.harm["down"], pair.down_result)
    return found


def _sampled(orders: Sequence[Order]) -> Iterator[tuple[Order, Order]]:
    """Yield pairs in which each order stands once up and once down; of many orders some."""
    some = orders if len(orders) <= 2 else orders[::2]
    yield from zip(some, reversed(orders[: len(some)]), strict=True)


def _differing(where: str, harm: Sequence[str], way: exploration.DirectionResult) -> list[str]:
    if bool(harm) == (not way.is_safe):
        return []
    told = [f"{one.invariant}: {one.text}" for one in way.breaks] or ["no harm"]
    return [f"{where}: the judge finds {list(harm) or 'no harm'}; explore finds {told}"]


# Plans


@dataclass
class Draw:
    """A plan in the making."""

    chance: Random
    flavour: str
    nodes: int

    def of(self, *choices: Any) -> Any:
        return self.chance.choice(choices)

    def tolerations(self) -> list[Document]:
        """Return tolerations: those that need the gate, those that do not, or none."""
        kind = self.chance.choices(("new", "plain", "none", "seconds"), (6, 3, 1, 1))[0]
        effect = self.of({}, {"effect": "NoExecute"}, {"effect": "NoSchedule"})
        match kind:
            case "none":
                return []
            case "plain":
                return [{"key": "sla", "operator": "Exists", **effect}]
            case "seconds":
                return [
                    {"key": "sla", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": self.of(3, 30)}
                ]
        if self.flavour == "cel":
            return [{"expression": self.of("taint.key == 'sla'", "taint.key == 'sla' && int(taint.value) > 900")}]
        if self.flavour == "comparison":
            return [{"key": "sla", "operator": self.of("Gt", "Gt", "Lt"), "value": "900", **effect}]
        return [{"key": "sla", "operator": "SemverGt", "value": "1.2.0", **effect}]

    def taint(self) -> Document:
        value = self.of("2.0.0", "1.0.0") if self.flavour == "semver" else self.of("950", "800")
        return {
            "key": "sla",
            "value": value,
            "effect": self.of("NoSchedule", "NoExecute", "NoExecute", "PreferNoSchedule"),
        }

    def pod_spec(self) -> Document:
        spec: Document = {"containers": [{"name": "main", "image": self.of("a:1", "a:2")}]}
        if self.of(True, True, False):
            spec["terminationGracePeriodSeconds"] = self.of(0, 2)
        if tolerations := self.tolerations():
            spec["tolerations"] = tolerations
        if self.nodes > 1:
            spec["nodeSelector"] = {"kubernetes.io/hostname": f"node-{self.chance.randint(1, self.nodes)}"}
        if self.flavour == "semver" and self.of(True, False):
            terms = [{"matchExpressions": [{"key": "driver", "operator": "SemverGt", "values": ["1.2.0"]}]}]
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            spec["affinity"] = {"nodeAffinity": required}
        return spec

    def workload(self, name: str) -> Document:
        kind = self.of(*KINDS)
        labels = {"app": name}
        head = {"kind": kind, "metadata": {"name": name}}
        if kind == "Pod":
            return {"apiVersion": "v1", **head, "metadata": {"name": name, "labels": labels}, "spec": self.pod_spec()}
        template: Document = {"metadata": {"labels": labels}, "spec": self.pod_spec()}
        if kind in ("Job", "CronJob"):
            template["spec"]["restartPolicy"] = self.of("Never", "OnFailure")
            job = {"template": template, "backoffLimit": 6}
            if kind == "Job":
                return {"apiVersion": "batch/v1", **head, "spec": job}
            return {"apiVersion": "batch/v1", **head, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job}}}
        if kind == "ReplicationController":
            spec = {"replicas": 1, "selector": labels, "template": template}
            return {"apiVersion": "v1", **head, "spec": spec}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        if kind != "DaemonSet":
            spec["replicas"] = self.chance.randint(1, 2)
        if kind in ("DaemonSet", "StatefulSet") and self.of(True, False, False):
            spec["updateStrategy"] = {"type": "OnDelete"}
        if kind == "StatefulSet":
            spec["serviceName"] = name
        return {"apiVersion": "apps/v1", **head, "spec": spec}

    def edit(self, workload: Document) -> list[Document]:
        """Return an edit of a workload that an operator makes."""
        kind, name = workload["kind"], workload["metadata"]["name"]
        pods = {"ref": {"kind": "Pod", "labels": {"app": name}}, "wait": False}
        choices: list[list[Document]] = [[{"delete": pods}]] if kind != "Pod" else []
        if kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
            patch = {"spec": {"template": {"spec": {"tolerations": self.tolerations() or None}}}}
            choices += [[{"patch": {"ref": f"{kind}/{name}", "patch": patch}}]] * 3
            again = {**workload, "spec": {**workload["spec"], "template": {**workload["spec"]["template"]}}}
            again["spec"]["template"]["spec"] = {
                **again["spec"]["template"]["spec"],
                "containers": [{"name": "main", "image": "b:1"}],
            }
            choices.append([{"apply": again}])
            choices.append([{"delete": {"ref": f"{kind}/{name}"}}, {"create": again}])
            operation = {"op": "add", "path": "/spec/template/spec/tolerations", "value": self.tolerations()}
            choices.append([{"patch": {"ref": f"{kind}/{name}", "type": "json", "patch": [operation]}}])
        if kind == "Job":
            choices.append([{"patch": {"ref": f"Job/{name}", "patch": {"spec": {"suspend": True}}}}])
        if kind == "Pod":
            again = {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "sla", "operator": "Exists"}}
            choices.append([{"patch": {"ref": f"Pod/{name}", "type": "json", "patch": [again]}}])
        if kind in ("Deployment", "ReplicaSet", "StatefulSet"):
            choices.append([{"kubectl": f"scale {kind.lower()} {name} --replicas={self.chance.randint(0, 3)}"}])
        if kind == "Deployment":
            choices.append([{"kubectl": f"rollout restart deployment {name}"}])
            choices.append([{"kubectl": f"rollout pause deployment {name}"}])
            choices.append([{"kubectl": f"delete deployment {name} --cascade=orphan"}])
        choices.append([{"delete": {"ref": f"{kind}/{name}", "wait": False}}])
        return list(self.chance.choice(choices))

    def disturbance(self, number: int, workloads: Sequence[Document]) -> Document:
        node = f"node-{self.chance.randint(1, self.nodes)}"
        bare: Document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "more-"}}
        bare["spec"] = self.pod_spec()
        taint = self.taint()
        text = f"{node} sla={taint['value']}:{taint['effect']}"
        drained = {"ref": {"kind": "Pod", "labels": {"app": "a"}}, "wait": False}
        choices: list[list[Document]] = [
            self.edit(self.chance.choice(workloads)),
            [{"create": bare}],
            [{"create": self.late()}],
            [{"kubectl": f"drain {node} --ignore-daemonsets --force"}, {"kubectl": f"uncordon {node}"}],
            [{"kubectl": f"label node {node} driver={self.of('1.0.0', '2.0.0')} --overwrite"}],
            [{"taint": text}],
            [{"taint": text}, {"taint": f"{node} sla:{taint['effect']}-"}],
            [{"kubectl": f"cordon {node}"}, {"delete": drained}, {"kubectl": f"uncordon {node}"}],
            [{"restart": self.of(*SINGLE[1:])}],
        ]
        actions = self.chance.choices(choices, (6, 2, 1, 1, 1, 1, 1, 1, 1))[0]
        phases = self.of(["up", "down"], ["up", "down"], ["up", "down"], ["up"], ["down"])
        when = self.chance.choices(("every-step", "before-down"), (5, 1))[0]
        phases = ["up", "down"] if when == "before-down" else phases
        return {"name": f"disturbance {number}", "when": when, "phases": phases, "do": actions}

    def late(self) -> Document:
        """Return a workload that comes into being in the middle of a rollout."""
        late = self.workload("late")
        labels = {"labels": late["metadata"]["labels"]} if "labels" in late["metadata"] else {}
        return {**late, "metadata": {"generateName": "late-", **labels}}

    def order(self, names: Sequence[str], workloads: Sequence[Document]) -> list[Document]:
        """Return an order down that is prepared, or none."""
        if self.of(True, True, True, False):
            return []
        prepare = self.edit(self.chance.choice(workloads))
        down = self.chance.sample(names, len(names))
        return [{"name": "prepared", "phase": "down", "order": down, "claim": "safe", "prepare": prepare}]

    def plan(self, number: int) -> Document:
        gates = {GATES[self.flavour]: True}
        names = self.chance.sample(SINGLE, self.chance.choices((1, 2, 3), (3, 7, 1))[0])
        if "kube-apiserver" not in names and self.of(True, True, False):
            names[0] = "kube-apiserver"
        older = self.of(False, False, False, True)
        change = (
            {"version": VERSION, "gates": gates, "from": {"version": self.of("1.34", "1.35")}}
            if older
            else {"gates": gates}
        )
        if "kubelet" in names and self.of(True, False, False, False):
            names[names.index("kubelet")] = "kubelet.node-1"
        if self.of(True, *[False] * 11):  # versions alone
            change = {"version": VERSION, "from": {"version": self.of("1.34", "1.35")}}
        labels = self.of({}, {"driver": "2.0.0"}, {"driver": "1.0.0"})
        nodes = [
            {"labels": labels, "taints": [self.taint()] if self.of(True, True, False) else []}
            for _ in range(self.nodes)
        ]
        workloads = [self.workload(name) for name in "ab"[: self.chance.randint(1, 2)]]
        others = [name for name in SINGLE if name not in names]
        setup = [
            {"component": {"name": name, "featureGates": gates}} for name in others if self.of(True, True, True, False)
        ]
        disturbances = [self.disturbance(at, workloads) for at in range(self.chance.randint(0, 2))]
        spec = {
            "version": VERSION,
            "change": {name: dict(change) for name in names},
            "nodes": nodes,
            "workload": workloads,
            "setup": setup,
            "disturbances": disturbances,
            "seconds": self.of(6, 12),
        }
        if orders := self.order(names, workloads):
            spec["orders"] = orders
        return {
            "apiVersion": "mockkube.dev/v1alpha1",
            "kind": "RolloutPlan",
            "metadata": {"name": f"plan-{number}"},
            "spec": spec,
        }


KINDS = (
    *("Pod", "Deployment", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"),
    "ReplicationController",
)
MAKERS = frozenset(KINDS)
GATES = {
    "cel": "TaintTolerationCEL",
    "comparison": "TaintTolerationComparisonOperators",
    "semver": "TaintTolerationNodeAffinitySemverComparisonOperators",
}


def drawn(number: int) -> Document:
    """Return the plan of a number."""
    chance = Random(number)
    return Draw(chance, chance.choice(list(GATES)), chance.choice((1, 1, 2))).plan(number)


@pytest.mark.timeout(300)
@pytest.mark.slow
@pytest.mark.parametrize("number", range(FIRST, FIRST + PLANS))
def test_explore_agrees_with_an_independent_judge(number: int, caplog: pytest.LogCaptureFixture) -> None:
    plan = drawn(number)
    assert disagreements(plan) == [], yaml.safe_dump(plan, sort_keys=False)
    assert _bugs(caplog) == []


@pytest.mark.timeout(300)
@pytest.mark.heavy
@pytest.mark.parametrize(
    "path",
    [pytest.param(one, id=one.stem, marks=pytest.mark.slow if one.stem in SLOW_CASES else ()) for one in CASES],
)
def test_explore_agrees_on_the_plans_on_which_it_once_did_not(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert disagreements(yaml.safe_load(path.read_text())) == []
    assert _bugs(caplog) == []


def _bugs(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the exceptions that components met with and survived."""
    return [record.getMessage() for record in caplog.records if record.exc_info]
