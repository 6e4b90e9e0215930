// Actions of the page. Each is a request to the API with the rights of the user, and a kubectl command that does it too.
import { api, ApiError, CONTROL, get, send } from "./session";
import { formatTaint, type Taint } from "./model";

export interface Action {
  title: string;
  // What happens, in one sentence.
  effect: string;
  command: string;
  run: () => Promise<unknown>;
}

const MERGE = "application/merge-patch+json";

function patch(path: string, body: unknown): Promise<unknown> {
  return send("PATCH", api(path), body, MERGE);
}

function quote(value: unknown): string {
  return `'${JSON.stringify(value).replaceAll("'", "'\\''")}'`;
}

interface NodeObject {
  metadata: { resourceVersion: string };
  spec?: { taints?: { key: string; value?: string; effect: string; timeAdded?: string }[] };
}

// Read the taints, change them, and write them unless somebody else has done so meanwhile.
async function editTaints(node: string, edit: (taints: NonNullable<NonNullable<NodeObject["spec"]>["taints"]>) => typeof taints): Promise<unknown> {
  for (let attempt = 0; ; attempt++) {
    const found = await get<NodeObject>(api(`/api/v1/nodes/${encodeURIComponent(node)}`));
    const taints = edit(found.spec?.taints ?? []);
    const body = { metadata: { resourceVersion: found.metadata.resourceVersion }, spec: { taints: taints.length ? taints : null } };
    try {
      return await patch(`/api/v1/nodes/${encodeURIComponent(node)}`, body);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409 || attempt >= 4) throw error;
    }
  }
}

export function addTaint(node: string, taint: Taint): Action {
  const [key, value, effect] = taint;
  return {
    title: `Add a taint to ${node}`,
    effect:
      effect === "NoExecute"
        ? `Pods on ${node} that do not tolerate ${formatTaint(taint)} are evicted.`
        : `New pods that do not tolerate ${formatTaint(taint)} are not scheduled to ${node}.`,
    command: `kubectl taint nodes ${node} ${formatTaint(taint)} --overwrite`,
    run: () =>
      editTaints(node, (taints) => [
        ...taints.filter((one) => one.key !== key || one.effect !== effect),
        value ? { key, value, effect } : { key, effect },
      ]),
  };
}

export function removeTaint(node: string, taint: Taint): Action {
  const [key, , effect] = taint;
  return {
    title: `Remove a taint from ${node}`,
    effect: `Pods no longer need to tolerate ${formatTaint(taint)} to run on ${node}.`,
    command: `kubectl taint nodes ${node} ${key}:${effect}-`,
    run: () => editTaints(node, (taints) => taints.filter((one) => one.key !== key || one.effect !== effect)),
  };
}

export function setCordon(node: string, cordoned: boolean): Action {
  return {
    title: `${cordoned ? "Cordon" : "Uncordon"} ${node}`,
    effect: cordoned ? `No new pods are scheduled to ${node}.` : `Pods can be scheduled to ${node} again.`,
    command: `kubectl ${cordoned ? "cordon" : "uncordon"} ${node}`,
    run: () => patch(`/api/v1/nodes/${encodeURIComponent(node)}`, { spec: { unschedulable: cordoned ? true : null } }),
  };
}

export function deletePod(namespace: string, name: string): Action {
  return {
    title: `Delete the pod ${name}`,
    effect: "Its owner, if it has one, creates another.",
    command: `kubectl delete pod ${name} -n ${namespace}`,
    run: () => send("DELETE", api(`/api/v1/namespaces/${namespace}/pods/${name}`), {}),
  };
}

function patchComponent(name: string, spec: unknown, title: string, effect: string): Action {
  return {
    title,
    effect,
    command: `kubectl patch component ${name} --type merge -p ${quote({ spec })}`,
    run: () => patch(`${CONTROL}/components/${name}`, { spec }),
  };
}

const RESTART = "The component restarts and loses its memory.";

export function setGate(component: string, gate: string, value: boolean | null): Action {
  const what = value === null ? `Reset ${gate} to its default` : `Turn ${gate} ${value ? "on" : "off"}`;
  return patchComponent(component, { featureGates: { [gate]: value } }, `${what} in ${component}`, RESTART);
}

export function setVersion(component: string, version: string): Action {
  return patchComponent(component, { version }, `Run ${component} at version ${version}`, RESTART);
}

export function setRunning(component: string, running: boolean): Action {
  const effect = running ? "The component starts." : "The component stops; nothing does its work until it is started again.";
  return patchComponent(component, { running }, `${running ? "Start" : "Stop"} ${component}`, effect);
}

export function restart(component: string): Action {
  const stop = setRunning(component, false);
  const start = setRunning(component, true);
  return {
    title: `Restart ${component}`,
    effect: RESTART,
    command: `${stop.command}\n${start.command}`,
    run: async () => {
      await stop.run();
      await waitUntilStopped(component);
      return start.run();
    },
  };
}

async function waitUntilStopped(component: string): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const found = await get<{ status?: { running?: boolean } }>(api(`${CONTROL}/components/${component}`));
    if (!found.status?.running) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export function advanceClock(duration: string): Action {
  const spec = { advance: duration };
  return {
    title: `Move the clock by ${duration}`,
    effect: "Everything that is due until then happens, in order.",
    command: `kubectl patch clock cluster --type merge -p ${quote({ spec })}`,
    run: () => patch(`${CONTROL}/clocks/cluster`, { spec }),
  };
}
