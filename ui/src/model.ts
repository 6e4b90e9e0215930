// Model of the cluster: a lane for each object with the rows that it had, as mockkube/ui/object_rows.py writes them.
import { open } from "./session";

export type Tone = "good" | "wait" | "bad" | "idle" | "terminating";
export type Taint = [key: string, value: string, effect: string];
export type NodeRow = [state: string, tone: Tone, taints: Taint[], podsMax: number, version: string];
export type PodRow = [state: string, tone: Tone, node: string, reason: string, message: string, owner: string];
export type ComponentRow = [
  state: string, tone: Tone, version: string, gates: Record<string, boolean>, trouble: string[], url: string,
];
export type Row = NodeRow | PodRow | ComponentRow;
export type Resource = "nodes" | "pods" | "components";

// States of one object: its row at each time; null once it is deleted.
export interface Lane {
  key: string;
  resource: Resource;
  namespace: string;
  name: string;
  times: number[];
  rows: (Row | null)[];
  revisions: number[];
  // Name with numbers in full length, by which lanes are sorted: comparing texts is a hundred times faster than a collator.
  sortKey: string;
}

export interface Cluster {
  name: string;
  version: string;
  clock: "Real" | "Virtual";
  now: number;
  server: string;
  // Releases that a component can run, oldest first.
  versions: string[];
}

export interface NodeView {
  lane: Lane;
  row: NodeRow;
  pods: Lane[];
}

// The cluster at one time.
export interface View {
  at: number | null;
  nodes: NodeView[];
  components: Lane[];
  pending: Lane[];
  evicted: Lane[];
  failed: Lane[];
  counts: Map<string, number>;
  podCount: number;
}

export type Connection = "connecting" | "live" | "lost" | "denied";

type RowLine = [Resource, string, string, Row];
type ChangeLine = [Resource, string, string, Row | null, number, number];

export class Model {
  lanes = new Map<string, Lane>();
  cluster: Cluster | null = null;
  connection: Connection = "connecting";
  // Whether the past has arrived, too.
  complete = false;
  start = 0;
  // Time of the last message, on the cluster's clock.
  latest = 0;
  version = 0;
  private listeners = new Set<() => void>();
  private scheduled = false;
  private receivedAt = 0;

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  // Present time of the cluster: it passes by itself in real time only.
  now(): number {
    if (this.cluster === null) return 0;
    return this.cluster.clock === "Real" ? this.latest + (performance.now() - this.receivedAt) : this.latest;
  }

  async run(): Promise<void> {
    for (;;) {
      try {
        await this.read();
      } catch (error) {
        if ((error as { status?: number }).status === 401) {
          this.connection = "denied";
          this.notify(true);
          return;
        }
      }
      this.connection = "lost";
      this.notify(true);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }

  private async read(): Promise<void> {
    const response = await open("stream");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const parts: string[] = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      let rest = value;
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
        parts.push(rest.slice(0, end));
        rest = rest.slice(end + 1);
        this.receive(JSON.parse(parts.join("")));
        parts.length = 0;
      }
      parts.push(rest);
    }
  }

  private receive(line: any): void {
    switch (line.type) {
      case "state":
        this.lanes = new Map();
        this.complete = false;
        this.cluster = line.cluster;
        this.start = line.cluster.now;
        this.setLatest(line.cluster.now);
        // The past follows; until then what exists now has existed for ever.
        for (const [resource, namespace, name, row] of line.rows as RowLine[]) {
          const lane = this.lane(resource, namespace, name);
          lane.times.push(0);
          lane.rows.push(row);
          lane.revisions.push(0);
        }
        this.connection = "live";
        this.notify(true);
        break;
      case "base":
        this.past = new Map();
        if (line.start) this.start = line.start;
        for (const [resource, namespace, name, row] of line.rows as RowLine[]) {
          this.addPast(resource, namespace, name, row, 0, 0);
        }
        break;
      case "past":
        for (const change of line.changes as ChangeLine[]) this.addPast(...change);
        break;
      case "live":
        this.mergePast();
        this.complete = true;
        this.notify(true);
        break;
      case "changes":
        for (const [resource, namespace, name, row, revision, at] of line.changes as ChangeLine[]) {
          append(this.lane(resource, namespace, name), row, revision, at);
          this.setLatest(Math.max(at, this.now()));
        }
        this.notify(false);
        break;
    }
  }

  private past = new Map<string, Lane>();

  private addPast(resource: Resource, namespace: string, name: string, row: Row | null, revision: number, at: number): void {
    const key = makeKey(resource, namespace, name);
    let lane = this.past.get(key);
    if (lane === undefined) this.past.set(key, (lane = makeLane(resource, namespace, name)));
    append(lane, row, revision, at);
  }

  private mergePast(): void {
    let first = Infinity;
    for (const [key, lane] of this.past) {
      for (const at of lane.times) if (at > 0 && at < first) first = at;
      this.lanes.set(key, lane);
    }
    if (first < this.start) this.start = first;
    this.past = new Map();
  }

  private lane(resource: Resource, namespace: string, name: string): Lane {
    const key = makeKey(resource, namespace, name);
    let lane = this.lanes.get(key);
    if (lane === undefined) this.lanes.set(key, (lane = makeLane(resource, namespace, name)));
    return lane;
  }

  private setLatest(at: number): void {
    this.latest = at;
    this.receivedAt = performance.now();
  }

  // Tell listeners, a few times a second at most, however much happens.
  private notify(now: boolean): void {
    this.version++;
    if (now) {
      for (const listener of this.listeners) listener();
    } else if (!this.scheduled) {
      this.scheduled = true;
      setTimeout(() => {
        this.scheduled = false;
        for (const listener of this.listeners) listener();
      }, 200);
    }
  }
}

function makeKey(resource: string, namespace: string, name: string): string {
  return `${resource}/${namespace}/${name}`;
}

function makeLane(resource: Resource, namespace: string, name: string): Lane {
  return { key: makeKey(resource, namespace, name), resource, namespace, name, times: [], rows: [], revisions: [], sortKey: "" };
}

function append(lane: Lane, row: Row | null, revision: number, at: number): void {
  const last = lane.times.length ? lane.times[lane.times.length - 1] : 0;
  lane.times.push(Math.max(at, last));
  lane.rows.push(row);
  lane.revisions.push(revision);
}

// Index of the row at a time (null: the present); -1 if the object did not exist yet.
export function indexAt(lane: Lane, at: number | null): number {
  let index = lane.times.length - 1;
  if (at !== null) while (index >= 0 && lane.times[index] > at) index--;
  return index;
}

export function rowAt<T extends Row>(lane: Lane, at: number | null): T | null {
  const index = indexAt(lane, at);
  return index < 0 ? null : (lane.rows[index] as T | null);
}

// Last row that is not null, up to a time: how a deleted object looked at its end.
export function lastRowAt<T extends Row>(lane: Lane, at: number | null): T | null {
  for (let index = indexAt(lane, at); index >= 0; index--) if (lane.rows[index] !== null) return lane.rows[index] as T;
  return null;
}

export interface Status {
  state: string;
  tone: Tone;
  gone: boolean;
}

// State of an object in one word, as it is shown everywhere.
export function statusAt(lane: Lane, at: number | null): Status | null {
  return statusOf(lane, indexAt(lane, at));
}

export function statusOf(lane: Lane, index: number): Status | null {
  if (index < 0) return null;
  const row = lane.rows[index];
  if (row !== null) return { state: row[0], tone: row[1], gone: false };
  const last = index > 0 ? lane.rows[index - 1] : null;
  if (last !== null && lane.resource === "pods" && last[0] === "Evicted") return { state: "Evicted, gone", tone: "bad", gone: true };
  return { state: "Gone", tone: "idle", gone: true };
}

const RANKS = { components: 0, nodes: 1, pods: 2 };

function sortKey(lane: Lane): string {
  return (lane.sortKey ||= `${RANKS[lane.resource]}${lane.name} ${lane.namespace}`.replace(/\d+/g, (digits) => digits.padStart(10, "0")));
}

function sortLanes(lanes: Lane[]): Lane[] {
  return lanes.sort((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1));
}

let sorted: Lane[] = [];

// All lanes by name, components first. They are sorted again when one is new; none is ever removed.
export function sortedLanes(model: Model): Lane[] {
  if (sorted.length !== model.lanes.size || sorted[0] !== model.lanes.get(sorted[0]?.key)) sorted = sortLanes([...model.lanes.values()]);
  return sorted;
}

let lastView: { model: Model; version: number; view: View } | null = null;

// The cluster at one time (null: the present). Several parts of the page share the last view.
export function makeView(model: Model, at: number | null): View {
  if (lastView?.model !== model || lastView.version !== model.version || lastView.view.at !== at) {
    lastView = { model, version: model.version, view: buildView(model, at) };
  }
  return lastView.view;
}

function buildView(model: Model, at: number | null): View {
  const view: View = {
    at, nodes: [], components: [], pending: [], evicted: [], failed: [], counts: new Map(), podCount: 0,
  };
  const nodes = new Map<string, NodeView>();
  for (const lane of model.lanes.values()) {
    const row = lane.resource === "pods" ? null : rowAt(lane, at);
    if (row !== null && lane.resource === "nodes") nodes.set(lane.name, { lane, row: row as NodeRow, pods: [] });
    else if (row !== null) view.components.push(lane);
  }
  for (const lane of model.lanes.values()) {
    if (lane.resource !== "pods") continue;
    const row = rowAt<PodRow>(lane, at);
    if (row === null) {
      if (statusAt(lane, at)?.state === "Evicted, gone") view.evicted.push(lane);
      continue;
    }
    const [state, , node] = row;
    view.podCount++;
    view.counts.set(state, (view.counts.get(state) ?? 0) + 1);
    if (state === "Evicted") view.evicted.push(lane);
    if (state === "Failed") view.failed.push(lane);
    if (node === "") {
      if (state !== "Evicted" && state !== "Failed") view.pending.push(lane);
    } else nodes.get(node)?.pods.push(lane);
  }
  // Pods are sorted where they are shown: all of them would take longer than everything else.
  for (const lanes of [view.components, view.pending, view.evicted, view.failed]) sortLanes(lanes);
  view.nodes = [...nodes.values()].sort((one, other) => (sortKey(one.lane) < sortKey(other.lane) ? -1 : 1));
  return view;
}

export function formatTaint([key, value, effect]: Taint): string {
  return `${key}${value ? `=${value}` : ""}:${effect}`;
}

export function formatGates(gates: Record<string, boolean>): string {
  return Object.keys(gates).sort().map((gate) => `${gate}=${gates[gate]}`).join(", ");
}

export function formatTime(at: number): string {
  return at <= 0 ? "before" : new Date(at).toISOString().slice(11, 19);
}

export function formatDateTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

// Reasons for which a pod is pending, the most frequent first, without the counts of preemption that follow it.
export function firstReason(row: PodRow): string {
  const message = row[4];
  if (!message) return row[3] || "waits for the scheduler";
  const found = /nodes are available: (.*?)(?:\. |\.$|$)/.exec(message);
  if (!found) return message;
  // The scheduler sorts its reasons by text; what concerns most nodes says most.
  const reasons = found[1].split(", ").map((text) => ({ text, count: parseInt(text) || 0 }));
  return reasons.sort((a, b) => b.count - a.count).map((one) => one.text).join(", ");
}

export interface Span {
  from: number;
  // Infinity: until the present.
  to: number;
  tone: Tone;
  text: string;
  revision: number;
  gone: boolean;
}

// States of an object in words, one after the other; equal ones are one span.
export function makeSpans(lane: Lane): Span[] {
  const spans: Span[] = [];
  for (let index = 0; index < lane.times.length; index++) {
    const status = statusOf(lane, index)!;
    const text = describeRow(lane.resource, status.state, lane.rows[index]);
    const last = spans[spans.length - 1];
    if (last && last.text === text) continue;
    if (last) last.to = lane.times[index];
    spans.push({ from: lane.times[index], to: Infinity, tone: status.tone, text, revision: lane.revisions[index], gone: status.gone });
  }
  return spans;
}

function describeRow(resource: Resource, state: string, row: Row | null): string {
  if (row === null) return state;
  if (resource === "pods") {
    const [, , node, reason] = row as PodRow;
    return `${state}${node && ` on ${node}`}${reason && `: ${reason}`}`;
  }
  if (resource === "nodes") {
    const taints = (row as NodeRow)[2];
    return taints.length ? `${state}, ${taints.map(formatTaint).join(", ")}` : state;
  }
  const [, , version, gates, trouble] = row as ComponentRow;
  const settings = formatGates(gates);
  return `${state === "Running" ? "" : `${state}, `}${version}${settings && `, ${settings}`}${trouble.length ? `, ${trouble[0].split(":")[0]}` : ""}`;
}
