"""Built-in commands of kubectl. Each returns the lines that kubectl would print."""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

import yaml

from mockkube.api.decoding import bounded_yaml
from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.api.printers.jsonpath import PathError
from mockkube.api.printers.jsonpath_template import compile_template
from mockkube.api.times import render_time
from mockkube.client.protocol import DeleteOptions, Key, Propagation, Selection
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.kinds import ResourceKind
from mockkube.scenario.kubectl.command_line import parse_command_line
from mockkube.scenario.kubectl.last_applied import make_patch, with_last_applied
from mockkube.scenario.kubectl.objects import KubectlCommand, TargetObject
from mockkube.scenario.references import key_of_kind
from mockkube.scenario.steps.taint import TaintStep
from mockkube.scenario.world import RequestOptions, World

_PATCH_TYPES: Final = {"json": PatchType.JSON, "merge": PatchType.MERGE, "strategic": PatchType.STRATEGIC}
_RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"
_ROLLOUT_SECONDS: Final = 600.0

CommandFunction = Callable[[KubectlCommand], Awaitable[list[str]]]


async def run_command(world: World, text: str) -> str:
    """Carry out a command line and return its output; StepFailed with kubectl's words if it fails."""
    line = parse_command_line(text)
    command = COMMANDS.get(line.verb)
    if command is None:
        raise StepFailed(f"kubectl {line.verb} is not built in ({', '.join(COMMANDS)}): run it with --kubectl PATH")
    options = RequestOptions(
        line.flag("--as"),
        line.flags.get("--as-group", ()),
        # kubectl sends --validate=strict unless told otherwise.
        field_validation="Strict",
        field_manager=_field_manager(line.verb),
        dry_run=line.flag("--dry-run") == "server",
    )
    kubectl = KubectlCommand(world, world.client(options), line)
    try:
        return "\n".join(await command(kubectl))
    except ApiError as error:
        raise StepFailed(f"Error from server ({error.reason}): {error.message}") from None


def _field_manager(verb: str) -> str:
    return "kubectl-client-side-apply" if verb == "apply" else f"kubectl-{verb}"


async def _run_get(command: KubectlCommand) -> list[str]:
    command.line.check_flags("--selector", "--field-selector", "--ignore-not-found", "--no-headers", "--server")
    found = []
    for meant in await command.find_objects(command.line.words):
        obj = await command.get_if_exists(meant)
        if obj is None and not command.line.is_on("--ignore-not-found"):
            raise NotFound.for_object(meant.resource_kind.group, meant.resource_kind.plural, meant.key.name)
        if obj is not None:
            found.append((meant, obj))
    # kubectl prints a List for several objects or a whole kind, the object itself if exactly one is named.
    single = len(command.line.words) == 2 or (len(command.line.words) == 1 and "/" in command.line.words[0])
    return _format_output(command.line.flag("--output"), found, single=single)


def _format_output(output: str, found: list[tuple[TargetObject, ReadOnlyObject]], *, single: bool) -> list[str]:
    """Return objects in one of kubectl's output formats."""
    objects = [dict(obj) for _, obj in found]
    document: Any = (
        objects[0]
        if single and objects
        else {
            "apiVersion": "v1",
            "kind": "List",
            "metadata": {"resourceVersion": ""},
            "items": objects,
        }
    )
    kind, _, template = output.partition("=")
    match kind:
        case "json":
            return [json.dumps(document, indent=4)]
        case "yaml":
            return [yaml.safe_dump(document, sort_keys=True, width=1000).rstrip("\n")]
        case "jsonpath":
            return [_render_jsonpath(template, document)]
        case "name":
            return [str(meant) for meant, _ in found]
        case "" | "wide":
            return [meant.key.name for meant, _ in found]
        case _:
            raise StepFailed(f"kubectl get: -o {output} is not built in: run it with --kubectl PATH")


def _render_jsonpath(template: str, whole: Any) -> str:
    """Return the result of a JSONPath template."""
    try:
        return compile_template(template).render(whole)
    except PathError as error:
        raise StepFailed(f"error: error parsing jsonpath {template}, {error}") from None


async def _run_create(command: KubectlCommand) -> list[str]:
    command.line.check_flags("--filename", "--dry-run", "--validate")
    if command.line.words:
        return [await _create_object(command, *_generate_object(command))]
    return [await _create_object(command, named, obj) for named, obj in await command.read_manifests()]


def _generate_object(command: KubectlCommand) -> tuple[ResourceKind, Object]:
    """Return the kind and object of `create namespace NAME` or `create serviceaccount NAME`."""
    match command.line.words:
        case ("namespace" | "ns", name):
            return ResourceKind("", "Namespace", "namespaces", False), {"metadata": {"name": name}}
        case ("serviceaccount" | "sa", name):
            metadata = {"name": name, "namespace": command.namespace}
            return ResourceKind("", "ServiceAccount", "serviceaccounts", True), {"metadata": metadata}
        case _:
            raise StepFailed(f"kubectl create {' '.join(command.line.words)} is not built in: give a manifest with -f")


async def _create_object(command: KubectlCommand, named: ResourceKind, obj: Object) -> str:
    created = await command.client.create(named.name, obj)
    return f"{TargetObject(named, key_of_kind(created, named))} created"


async def _run_apply(command: KubectlCommand) -> list[str]:
    command.line.check_flags(
        "--filename", "--server-side", "--force-conflicts", "--dry-run", "--validate", "--selector"
    )
    lines = []
    for named, obj in await command.read_manifests():
        meant = TargetObject(named, key_of_kind(obj, named))
        if command.line.is_on("--server-side"):
            await command.client.patch(named.name, meant.key, obj, patch_type=PatchType.APPLY)
            lines.append(f"{meant} serverside-applied")
            continue
        # Client-side apply: kubectl reads the object and sends only the difference, so an unchanged object is not
        # written.
        present = await command.get_if_exists(meant)
        if present is None:
            await command.client.create(named.name, with_last_applied(obj))
            lines.append(f"{meant} created")
            continue
        patch = make_patch(obj, present)
        if patch:
            await command.client.patch(named.name, meant.key, patch, patch_type=PatchType.MERGE)
        lines.append(f"{meant} {'configured' if patch else 'unchanged'}")
    return lines


async def _run_delete(command: KubectlCommand) -> list[str]:
    command.line.check_flags(
        "--filename", "--selector", "--all", "--grace-period", "--force", "--now", "--cascade", "--wait",
        "--ignore-not-found",
    )  # fmt: skip
    if "--filename" in command.line.flags:
        targets = [TargetObject(named, key_of_kind(obj, named)) for named, obj in await command.read_manifests()]
    else:
        targets = await command.find_objects(command.line.words)
    lines = []
    for meant in targets:
        try:
            await command.client.delete(meant.resource_kind.name, meant.key, _delete_options(command))
        except NotFound:
            if not command.line.is_on("--ignore-not-found"):
                raise
            continue
        lines.append(f'{meant.resource_kind.kind.lower()} "{meant.key.name}" deleted')

    async def gone() -> bool:
        return not [meant for meant in targets if await command.get_if_exists(meant) is not None]

    # kubectl waits for finalizers by default; here virtual time has to pass meanwhile.
    if command.line.flag("--wait", "true") != "false":
        await command.world.wait_until(gone, command.world.context.deletion_timeout)
    return lines


def _delete_options(command: KubectlCommand) -> DeleteOptions:
    """Return the delete options of the flags."""
    grace = command.line.flag("--grace-period")
    # kubectl's --now is a grace period of 1 second; --force without a period deletes with 0.
    seconds = (
        int(grace) if grace else 1 if command.line.is_on("--now") else 0 if command.line.is_on("--force") else None
    )
    cascade = command.line.flag("--cascade", "background").capitalize()
    try:
        return DeleteOptions(grace_seconds=seconds, propagation=Propagation(cascade))
    except ValueError:
        raise StepFailed(
            f"kubectl delete: --cascade={cascade.lower()}: give background, foreground or orphan"
        ) from None


async def _run_patch(command: KubectlCommand) -> list[str]:
    command.line.check_flags("--type", "--patch", "--subresource", "--dry-run")
    kind = command.line.flag("--type", "strategic")
    if kind not in _PATCH_TYPES:
        raise StepFailed(f"kubectl patch: --type={kind}: give json, merge or strategic")
    patch = bounded_yaml.load(command.line.flag("--patch"))
    for meant in (found := await command.find_objects(command.line.words)):
        below = command.line.flag("--subresource")
        await command.client.patch(
            meant.resource_kind.name, meant.key, patch, patch_type=_PATCH_TYPES[kind], subresource=below
        )
    return [f"{meant} patched" for meant in found]


def _make_metadata_command(member: str, past_participle: str) -> CommandFunction:
    """Return the command that sets or removes entries of a map in the metadata."""

    async def change(command: KubectlCommand) -> list[str]:
        command.line.check_flags("--overwrite", "--selector", "--all")
        words = [word for word in command.line.words if not _is_pair(word)]
        pairs = [word for word in command.line.words if _is_pair(word)]
        entries: dict[str, str | None] = {word.removesuffix("-"): None for word in pairs if "=" not in word}
        entries |= {key: value for key, equals, value in (word.partition("=") for word in pairs) if equals}
        found = await command.find_objects(words)
        for meant in found:
            present = (await command.client.get(meant.resource_kind.name, meant.key))["metadata"].get(member) or {}
            # kubectl rejects a changed value without --overwrite; setting the same value again is fine.
            clash = [key for key, value in entries.items() if value is not None and present.get(key, value) != value]
            if clash and not command.line.is_on("--overwrite"):
                raise StepFailed(
                    f"error: '{clash[0]}' already has a value ({present[clash[0]]}), and --overwrite is false"
                )
            patch = {"metadata": {member: entries}}
            await command.client.patch(meant.resource_kind.name, meant.key, patch, patch_type=PatchType.MERGE)
        return [f"{meant} {past_participle}" for meant in found]

    return change


def _is_pair(word: str) -> bool:
    return "=" in word or (word.endswith("-") and len(word) > 1)


async def _run_taint(command: KubectlCommand) -> list[str]:
    command.line.check_flags("--overwrite", "--selector", "--all")
    words = list(command.line.words)
    if words[:1] and words[0] in ("node", "nodes", "no"):
        del words[0]
    taints = [word for word in words if ":" in word or word.endswith("-")]
    nodes = [word for word in words if word not in taints]
    lines = []
    for node in nodes or [""]:
        for text in taints:
            arguments = TaintStep.adapt(f"x {text}")
            step = TaintStep(**{**arguments, "node": node, "selector": command.line.flag("--selector")})
            await step.play(command.world)
        lines.append(f"node/{node or 'all'} {'untainted' if all(text.endswith('-') for text in taints) else 'tainted'}")
    return lines


def _make_cordon_command(unschedulable: bool, past_participle: str) -> CommandFunction:
    """Return the command that sets `unschedulable` of nodes."""

    async def change(command: KubectlCommand) -> list[str]:
        command.line.check_flags("--selector")
        words = command.line.words
        found = await command.find_objects(["node", *words] if words else ["nodes"])
        patch = {"spec": {"unschedulable": True if unschedulable else None}}
        for meant in found:
            await command.client.patch(meant.resource_kind.name, meant.key, patch, patch_type=PatchType.MERGE)
        return [f"{meant} {past_participle}" for meant in found]

    return change


async def _run_drain(command: KubectlCommand) -> list[str]:
    # upstream 1.36: kubectl/pkg/cmd/drain/drain.go, kubectl/pkg/drain/filters.go
    command.line.check_flags(
        "--ignore-daemonsets", "--force", "--delete-emptydir-data", "--grace-period", "--timeout", "--selector",
        "--pod-selector", "--disable-eviction",
    )  # fmt: skip
    words = command.line.words
    nodes = await command.find_objects(["node", *words] if words else ["nodes"])
    lines = []
    for node in nodes:
        await command.client.patch("Node", node.key, {"spec": {"unschedulable": True}}, patch_type=PatchType.MERGE)
        lines.append(f"{node} cordoned")
    for node in nodes:
        on_node = Selection("", command.line.flag("--pod-selector"), f"spec.nodeName={node.key.name}")
        pods = (await command.client.list("Pod", on_node)).items
        # kubectl checks all pods of a node before it evicts the first one; the node stays cordoned after an error.
        if wrong := list(_find_drain_errors(command, pods)):
            raise StepFailed(f'error: unable to drain node "{node.key.name}" due to error: {", ".join(wrong)}')
        going = [pod for pod in pods if not _is_daemon_set_pod(pod)]
        lines += [line for pod in going for line in await _evict_pod(command, pod)]
        lines.append(f"{node} drained")
    return lines


def _find_drain_errors(command: KubectlCommand, pods: Iterable[ReadOnlyObject]) -> Iterator[str]:
    """Yield the reasons why drain refuses pods, in kubectl's words."""
    finished = ("Succeeded", "Failed")
    alive = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in finished]
    local = [pod for pod in alive if any("emptyDir" in one for one in pod["spec"].get("volumes") or ())]
    kinds = (
        ("DaemonSet-managed Pods", "--ignore-daemonsets to ignore", [pod for pod in pods if _is_daemon_set_pod(pod)]),
        ("Pods that declare no controller", "--force to override", [pod for pod in alive if not _controller_kind(pod)]),
        ("Pods with local storage", "--delete-emptydir-data to override", local),
    )
    for what, remedy, found in kinds:
        if found and not command.line.is_on(remedy.partition(" ")[0]):
            names = ", ".join(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in found)
            yield f"cannot delete {what} (use {remedy}): {names}"


def _controller_kind(pod: ReadOnlyObject) -> str:
    """Return the kind of a pod's controller; empty if it has none."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((str(one["kind"]) for one in owners if one.get("controller")), "")


def _is_daemon_set_pod(pod: ReadOnlyObject) -> bool:
    return _controller_kind(pod) == "DaemonSet"


async def _evict_pod(command: KubectlCommand, pod: ReadOnlyObject) -> list[str]:
    """Evict a pod and wait until it is gone; a PodDisruptionBudget may allow later what it forbids now."""
    metadata = pod["metadata"]
    key = Key(metadata["namespace"], metadata["name"])
    body: Object = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": key.name}}
    body["metadata"]["namespace"] = key.namespace
    grace = command.line.flag("--grace-period")
    if grace:
        body["deleteOptions"] = {"gracePeriodSeconds": int(grace)}
    refusals: list[str] = []

    async def evicted() -> bool:
        try:
            if command.line.is_on("--disable-eviction"):
                await command.client.delete("Pod", key, DeleteOptions(grace_seconds=int(grace) if grace else None))
            else:
                await command.client.create("Pod", body, subresource="eviction", name=key.name)
        except NotFound:
            return True
        except ApiError as error:
            # 429 means that a budget forbids the eviction at present; kubectl drain retries every 5 seconds.
            if error.code != HTTPStatus.TOO_MANY_REQUESTS:
                raise
            refusals.append(error.message)
            return False
        return True

    async def gone() -> bool:
        try:
            present = await command.client.get("Pod", key)
        except NotFound:
            return True
        return bool(present["metadata"]["uid"] != metadata["uid"])

    patience = command.world.context.deletion_timeout
    if not (await command.world.wait_until(evicted, patience) and await command.world.wait_until(gone, patience)):
        why = f": {refusals[-1]}" if refusals else ""
        raise StepFailed(f'error: timed out waiting for pod "{key.name}" to be evicted{why}')
    return [f"evicting pod {key.namespace}/{key.name}", f"pod/{key.name} evicted"]


async def _run_scale(command: KubectlCommand) -> list[str]:
    command.line.check_flags("--replicas", "--selector", "--all")
    count = command.line.flag("--replicas")
    if not count.isdigit():
        raise StepFailed("kubectl scale: give --replicas=N")
    for meant in (found := await command.find_objects(command.line.words)):
        patch = {"spec": {"replicas": int(count)}}
        await command.client.patch(
            meant.resource_kind.name, meant.key, patch, patch_type=PatchType.MERGE, subresource="scale"
        )
    return [f"{meant} scaled" for meant in found]


async def _run_rollout(command: KubectlCommand) -> list[str]:
    command.line.check_flags("--timeout", "--selector")
    match command.line.words:
        case ("restart", *words):
            return await _restart_rollout(command, words)
        case ("status", *words):
            return await _wait_for_rollout(command, words)
        case ("pause" | "resume" as verb, *words):
            return await _pause_rollout(command, verb, words)
    raise StepFailed(f"kubectl rollout {' '.join(command.line.words)} is not built in: run it with --kubectl PATH")


async def _restart_rollout(command: KubectlCommand, words: list[str]) -> list[str]:
    now = render_time(command.world.clock.now())
    patch = {"spec": {"template": {"metadata": {"annotations": {_RESTARTED_AT: now}}}}}
    for meant in (found := await command.find_objects(words)):
        await command.client.patch(meant.resource_kind.name, meant.key, patch, patch_type=PatchType.STRATEGIC)
    return [f"{meant} restarted" for meant in found]


async def _pause_rollout(command: KubectlCommand, verb: str, words: list[str]) -> list[str]:
    patch = {"spec": {"paused": True if verb == "pause" else None}}
    for meant in (found := await command.find_objects(words)):
        await command.client.patch(meant.resource_kind.name, meant.key, patch, patch_type=PatchType.MERGE)
    return [f"{meant} {verb}d" for meant in found]


async def _wait_for_rollout(command: KubectlCommand, words: list[str]) -> list[str]:
    found = await command.find_objects(words)

    async def done() -> bool:
        return all([_is_rolled_out(await command.client.get(meant.resource_kind.name, meant.key)) for meant in found])

    if not await command.world.wait_until(done, _ROLLOUT_SECONDS):
        raise StepFailed(f"error: timed out waiting for {', '.join(map(str, found))}")
    return [f'{meant.resource_kind.kind.lower()} "{meant.key.name}" successfully rolled out' for meant in found]


def _is_rolled_out(obj: ReadOnlyObject) -> bool:
    """Return whether a rollout is complete."""
    # upstream 1.36: kubectl/pkg/polymorphichelpers/rollout_status.go
    spec, status = obj["spec"], obj.get("status", {})
    # Until the controller observed the new generation, the counts describe the old template.
    if status.get("observedGeneration", 0) < obj["metadata"].get("generation", 0):
        return False
    if obj["kind"] == "DaemonSet":
        wanted = status.get("desiredNumberScheduled", 0)
        return bool(status.get("updatedNumberScheduled", 0) >= wanted <= status.get("numberAvailable", 0))
    wanted = spec.get("replicas", 1)
    updated = status.get("updatedReplicas", 0)
    available = status.get("availableReplicas", status.get("readyReplicas", 0))
    return bool(updated >= wanted and status.get("replicas", 0) <= updated <= available)


COMMANDS: Final[Mapping[str, CommandFunction]] = {
    "get": _run_get,
    "create": _run_create,
    "apply": _run_apply,
    "delete": _run_delete,
    "patch": _run_patch,
    "label": _make_metadata_command("labels", "labeled"),
    "annotate": _make_metadata_command("annotations", "annotated"),
    "taint": _run_taint,
    "cordon": _make_cordon_command(True, "cordoned"),
    "uncordon": _make_cordon_command(False, "uncordoned"),
    "drain": _run_drain,
    "scale": _run_scale,
    "rollout": _run_rollout,
}
