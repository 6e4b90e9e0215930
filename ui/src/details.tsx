// Panel about one object: why it is as it is, its events, its revisions and the object itself.
import { useEffect, useMemo, useState } from "preact/hooks";
import { addTaint, deletePod, removeTaint, restart, setCordon, setGate, setRunning, setVersion } from "./actions";
import { LaneList, parseTaint } from "./map";
import { formatDateTime, formatTaint, formatTime, lastRowAt, makeSpans, rowAt, statusAt, type ComponentRow, type Lane, type Model, type NodeRow, type PodRow } from "./model";
import { Badge, Command, Tabs, type Tab } from "./parts";
import { api, CONTROL, get } from "./session";
import { useShared, useView } from "./state";
import { WhyReport, type Explanation } from "./why";
import { diffLines, foldDiff, toLines } from "./text";

interface RevisionList {
  oldest: number;
  complete: boolean;
  revisions: { revision: number; at: number; deleted: boolean; object: Record<string, any> }[];
}

// Result of a request that is repeated when one of its dependencies changes.
function useFetched<T>(load: () => Promise<T>, dependencies: unknown[]): { value: T | null; error: string } {
  const [state, setState] = useState<{ value: T | null; error: string }>({ value: null, error: "" });
  useEffect(() => {
    let current = true;
    load().then(
      (value) => current && setState({ value, error: "" }),
      (error: Error) => current && setState({ value: null, error: error.message }),
    );
    return () => {
      current = false;
    };
  }, dependencies);
  return state;
}

const KINDS = { nodes: "Node", pods: "Pod", components: "Component" };

export function Details() {
  const { selection, select, at, model } = useShared();
  const lane = selection!.lane;
  const status = statusAt(lane, at);
  const tabs: Tab[] =
    lane.resource === "pods"
      ? [{ id: "why", title: "Why" }, { id: "events", title: "Events" }, { id: "revisions", title: "Revisions" }, { id: "object", title: "Object" }]
      : lane.resource === "nodes"
        ? [{ id: "node", title: "Taints and pods" }, { id: "events", title: "Events" }, { id: "revisions", title: "Revisions" }, { id: "object", title: "Object" }]
        : [{ id: "settings", title: "Settings" }, { id: "revisions", title: "Revisions" }, { id: "object", title: "Object" }];
  const [tab, setTab] = useState(selection!.revision ? "revisions" : tabs[0].id);
  useEffect(() => setTab(selection!.revision ? "revisions" : tabs[0].id), [lane.key, selection!.revision]);
  // Something is fetched again when the object has changed.
  const stamp = `${lane.key}@${lane.times.length}`;
  void model;
  return (
    <aside class="details" aria-label={`${KINDS[lane.resource]} ${lane.name}`}>
      <header>
        <div>
          <p class="soft small">{KINDS[lane.resource]}{lane.namespace && ` in ${lane.namespace}`}</p>
          <h2>{lane.name}</h2>
          {status && <Badge tone={status.tone}>{status.state}</Badge>} <Facts lane={lane} at={at} />
        </div>
        <button class="close" aria-label="Close" onClick={() => select(null)}>✕</button>
      </header>
      <Tabs tabs={tabs} chosen={tab} onChoose={setTab} label="About this object">
        {tab === "why" && <Why lane={lane} stamp={stamp} />}
        {tab === "node" && <NodeSettings lane={lane} />}
        {tab === "settings" && <ComponentSettings lane={lane} stamp={stamp} />}
        {tab === "events" && <Events lane={lane} stamp={stamp} />}
        {tab === "revisions" && <Revisions lane={lane} stamp={stamp} />}
        {tab === "object" && <ObjectText lane={lane} stamp={stamp} />}
      </Tabs>
    </aside>
  );
}

function Facts({ lane, at }: { lane: Lane; at: number | null }) {
  const { model, select } = useShared();
  if (lane.resource !== "pods") return null;
  const row = lastRowAt<PodRow>(lane, at);
  if (!row) return null;
  const node = row[2] && model.lanes.get(`nodes//${row[2]}`);
  return (
    <span class="soft small">
      {row[2] && (node ? <>on <button class="link" onClick={() => select(node)}>{row[2]}</button> </> : `on ${row[2]} `)}
      {row[5] && `owned by ${row[5]}`}
    </span>
  );
}

const TAINTED = "DeletionByTaintManager";
const REASONS: Record<string, string> = {
  [TAINTED]: "The controller manager evicted it, because its node has a NoExecute taint that it does not tolerate, or no longer tolerates.",
  PreemptionByScheduler: "The scheduler evicted it to make room for a pod with a higher priority.",
  EvictionByEvictionAPI: "Somebody evicted it through the eviction API, as kubectl drain does.",
  TerminationByKubelet: "The kubelet ended it.",
  DeletionByPodGC: "The pod garbage collector deleted it, because its node is gone.",
  DeletionByDeviceTaintManager: "The controller manager evicted it, because one of its devices is tainted.",
};

// Why a pod was evicted, in a sentence: with the taints that its node had then, if they are known.
function describeReason(model: Model, lane: Lane, row: PodRow): string | undefined {
  if (row[3] !== TAINTED) return REASONS[row[3]];
  const index = lane.rows.findIndex((one) => one !== null && (one as PodRow)[3] === TAINTED);
  const node = model.lanes.get(`nodes//${row[2]}`);
  const taints = (node && rowAt<NodeRow>(node, lane.times[index])?.[2])?.filter((one) => one[2] === "NoExecute").map(formatTaint);
  if (!taints?.length) return REASONS[TAINTED];
  return `The controller manager evicted it, because ${row[2]} had the taint${taints.length > 1 ? "s" : ""} ${taints.join(", ")}, which it does not tolerate, or no longer tolerates.`;
}

function Why({ lane, stamp }: { lane: Lane; stamp: string }) {
  const { at, propose, model } = useShared();
  const row = lastRowAt<PodRow>(lane, at);
  const reason = row && describeReason(model, lane, row);
  const status = statusAt(lane, at);
  const why = useFetched(() => get<Explanation>(api(`${CONTROL}/namespaces/${lane.namespace}/pods/${lane.name}/why`)), [stamp]);
  return (
    <>
      {row && (row[3] || row[4]) && (
        <div class={`box tone-${row[1]}`}>
          <h3>{row[0]}{row[3] && `: ${row[3]}`}</h3>
          {reason && <p>{reason}</p>}
          {row[4] && <p class="quote">{row[4]}</p>}
        </div>
      )}
      <h3>What mockkube finds{at !== null && " now"}</h3>
      {why.value !== null ? <WhyReport report={why.value} /> : why.error ? <p class="soft">{why.error}</p> : <p class="soft">Asking the components…</p>}
      <History lane={lane} />
      <h3>The same in a terminal</h3>
      <Command text={`mockkube why ${lane.name} -n ${lane.namespace}\nkubectl describe pod ${lane.name} -n ${lane.namespace}`} />
      {at === null && status && !status.gone && (
        <div class="buttons start">
          <button onClick={() => propose(deletePod(lane.namespace, lane.name))}>Delete the pod…</button>
        </div>
      )}
    </>
  );
}

// States of the object in words, which is also what a screen reader gets of its lane.
function History({ lane }: { lane: Lane }) {
  const { setAt } = useShared();
  const states = makeSpans(lane);
  return (
    <>
      <h3>What happened</h3>
      <ol class="history">
        {states.map((one) => (
          <li key={one.from + one.text}>
            {one.from > 0 ? <button class="link time" title="Show the cluster at this time" onClick={() => setAt(one.from)}>{formatTime(one.from)}</button> : <span class="time soft">before</span>}
            <span>{one.text}</span>
          </li>
        ))}
      </ol>
    </>
  );
}

interface EventObject {
  metadata: { uid: string; creationTimestamp: string };
  type: string;
  reason: string;
  message: string;
  count?: number;
  lastTimestamp?: string;
  eventTime?: string;
  series?: { count: number; lastObservedTime: string };
  source?: { component?: string };
  reportingComponent?: string;
}

function eventTime(event: EventObject): string {
  return event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp;
}

function Events({ lane, stamp }: { lane: Lane; stamp: string }) {
  const selector = encodeURIComponent(`involvedObject.kind=${KINDS[lane.resource]},involvedObject.name=${lane.name}`);
  const path = lane.namespace ? `/api/v1/namespaces/${lane.namespace}/events` : "/api/v1/events";
  const events = useFetched(() => get<{ items: EventObject[] }>(api(`${path}?fieldSelector=${selector}`)), [stamp]);
  if (events.error) return <p class="error">{events.error}</p>;
  if (!events.value) return <p class="soft">…</p>;
  const items = [...events.value.items].sort((a, b) => (eventTime(a) < eventTime(b) ? -1 : 1));
  return (
    <>
      {items.length === 0 && <p class="soft">No events.</p>}
      <ol class="events">
        {items.map((event) => (
          <li key={event.metadata.uid} class={event.type === "Warning" ? "warning" : ""}>
            <p>
              <span class="time">{eventTime(event).slice(11, 19)}</span> <b>{event.reason}</b> <span class="soft small">{event.reportingComponent || event.source?.component}{(event.series?.count ?? event.count ?? 1) > 1 && `, ${event.series?.count ?? event.count} times`}</span>
            </p>
            <p>{event.message}</p>
          </li>
        ))}
      </ol>
      <Command text={`kubectl events --for ${lane.resource.slice(0, -1)}/${lane.name}${lane.namespace && ` -n ${lane.namespace}`}`} />
    </>
  );
}

function useRevisions(lane: Lane, stamp: string) {
  const query = new URLSearchParams({ resource: lane.resource, namespace: lane.namespace, name: lane.name });
  return useFetched(() => get<RevisionList>(`revisions?${query}`), [stamp]);
}

function Revisions({ lane, stamp }: { lane: Lane; stamp: string }) {
  const { selection, setAt } = useShared();
  const { value, error } = useRevisions(lane, stamp);
  const [open, setOpen] = useState(-1);
  const wanted = selection!.revision;
  useEffect(() => {
    if (value) setOpen(wanted ? Math.max(0, value.revisions.findLastIndex((one) => one.revision <= wanted)) : value.revisions.findLastIndex((one) => !one.deleted));
  }, [value, wanted]);
  if (error) return <p class="error">{error}</p>;
  if (!value) return <p class="soft">…</p>;
  return (
    <>
      {!value.complete && <p class="note">Earlier revisions are unknown: the store has compacted them{value.oldest > 1 && ` (it begins at ${value.oldest})`}.</p>}
      {value.revisions.length === 0 && <p class="soft">The store has no revision of it any more.</p>}
      <ol class="revisions">
        {value.revisions.map((one, index) => (
          <li key={one.revision}>
            <p>
              <button class="link" aria-expanded={index === open} onClick={() => setOpen(index === open ? -1 : index)}>
                Revision {one.revision}
              </button>{" "}
              {one.at > 0 && <button class="link time" title="Show the cluster at this time" onClick={() => setAt(one.at + 999)}>{formatTime(one.at)}</button>}{" "}
              {one.deleted ? <Badge tone="idle">deleted</Badge> : index === 0 && value.complete ? <Badge tone="good">created</Badge> : <span class="soft small">{describeWriter(one.object, value.revisions[index - 1]?.object)}</span>}
            </p>
            {index === open && !one.deleted && <Diff before={value.revisions[index - 1]?.object} after={one.object} />}
          </li>
        ))}
      </ol>
    </>
  );
}

// Field manager of the last write, as far as managed fields say it.
function describeWriter(object: Record<string, any>, before?: Record<string, any>): string {
  const known = new Map<string, string>((before?.metadata.managedFields ?? []).map((one: any) => [`${one.manager}/${one.subresource}`, JSON.stringify(one)]));
  const writer = (object.metadata.managedFields ?? []).find((one: any) => known.get(`${one.manager}/${one.subresource}`) !== JSON.stringify(one));
  if (object.metadata.deletionTimestamp && !before?.metadata.deletionTimestamp) return "deletion requested";
  return writer ? `${writer.manager}${writer.subresource ? ` (${writer.subresource})` : ""}` : "";
}

function Diff({ before, after }: { before?: Record<string, any>; after: Record<string, any> }) {
  const lines = useMemo(() => foldDiff(diffLines(before ? toLines(before, false) : [], toLines(after, false))), [before, after]);
  return (
    <pre class="diff" tabIndex={0} aria-label={before ? "Difference to the revision before" : "Object"}>
      {lines.map((line, index) =>
        line === null ? <span key={index} class="fold">⋯{"\n"}</span> : line.mark === "+" && before ? <ins key={index}>+ {line.text}{"\n"}</ins> : line.mark === "-" ? <del key={index}>- {line.text}{"\n"}</del> : <span key={index}>{"  "}{line.text}{"\n"}</span>,
      )}
    </pre>
  );
}

function ObjectText({ lane, stamp }: { lane: Lane; stamp: string }) {
  const { at } = useShared();
  const { value, error } = useRevisions(lane, stamp);
  if (error) return <p class="error">{error}</p>;
  if (!value) return <p class="soft">…</p>;
  const index = at === null ? value.revisions.length - 1 : value.revisions.findLastIndex((one) => one.at <= at);
  const found = value.revisions[index];
  if (!found) return <p class="note">Its state at this time is unknown: the store has compacted it.</p>;
  const resource = lane.resource === "components" ? "component" : lane.resource.slice(0, -1);
  return (
    <>
      <p class="soft small">Revision {found.revision}{found.deleted && ", its last state before it was deleted"}{found.at > 0 && `, ${formatDateTime(found.at)}`}; without managed fields</p>
      <pre class="object" tabIndex={0} aria-label="Object as YAML">{toLines(found.object).join("\n")}</pre>
      <Command text={`kubectl get ${resource} ${lane.name}${lane.namespace && ` -n ${lane.namespace}`} -o yaml`} />
    </>
  );
}

function NodeSettings({ lane }: { lane: Lane }) {
  const { at, propose } = useShared();
  const view = useView();
  const [text, setText] = useState("");
  const row = rowAt<NodeRow>(lane, at);
  const node = view.nodes.find((one) => one.lane === lane);
  if (!row || !node) return <History lane={lane} />;
  const taint = parseTaint(text);
  const cordoned = row[0].includes("SchedulingDisabled");
  return (
    <>
      <h3>Taints</h3>
      {row[2].length === 0 && <p class="soft">None.</p>}
      <ul class="plain">
        {row[2].map((one) => (
          <li key={formatTaint(one)} class="pair">
            <span class={`taint effect-${one[2]}`}>{formatTaint(one)}</span>
            {at === null && <button onClick={() => propose(removeTaint(lane.name, one))}>Remove<span class="hidden"> {formatTaint(one)}</span>…</button>}
          </li>
        ))}
      </ul>
      {at === null && (
        <form
          class="pair"
          onSubmit={(event) => {
            event.preventDefault();
            if (taint) propose(addTaint(lane.name, taint));
          }}
        >
          <label class="hidden" for="add-taint">New taint</label>
          <input id="add-taint" placeholder="key=value:NoSchedule" spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
          <button disabled={!taint}>Add…</button>
        </form>
      )}
      {at === null && (
        <div class="buttons start">
          <button onClick={() => propose(setCordon(lane.name, !cordoned))}>{cordoned ? "Uncordon" : "Cordon"}…</button>
        </div>
      )}
      <h3>Pods <span class="count">{node.pods.length} of {row[3]}</span></h3>
      {node.pods.length === 0 ? <p class="soft">None.</p> : <div class="bounded"><LaneList label={`Pods on ${lane.name}`} lanes={node.pods} describe={(pod) => rowAt<PodRow>(pod, at)?.[3] || rowAt<PodRow>(pod, at)?.[5] || ""} /></div>}
      <History lane={lane} />
    </>
  );
}

function ComponentSettings({ lane, stamp }: { lane: Lane; stamp: string }) {
  const { at, propose, model } = useShared();
  const row = lastRowAt<ComponentRow>(lane, at);
  const object = useFetched(() => get<{ spec: any; status?: { featureGates?: Record<string, boolean> } }>(api(`${CONTROL}/components/${lane.name}`)), [stamp]);
  const [filter, setFilter] = useState("");
  if (!row) return null;
  const known = object.value?.status?.featureGates ?? {};
  const own = row[3];
  const gates = Object.keys(known).filter((gate) => gate.toLowerCase().includes(filter.toLowerCase())).sort((a, b) => Number(b in own) - Number(a in own) || (a < b ? -1 : 1));
  const releases = model.cluster?.versions ?? [];
  const versions = releases.includes(row[2]) ? releases : [...releases, row[2]];
  const live = at === null;
  return (
    <>
      {row[4].map((one) => <p key={one} class="note">{one}</p>)}
      {row[5] && <p class="soft small">{row[5]}</p>}
      <div class="pair">
        <label for="component-version">Version</label>
        <select id="component-version" value={row[2]} disabled={!live} onChange={(event) => { const version = event.currentTarget.value; event.currentTarget.value = row[2]; propose(setVersion(lane.name, version)); }}>
          {versions.map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
      </div>
      {live && (
        <div class="buttons start">
          {row[0] === "Running" ? <><button onClick={() => propose(restart(lane.name))}>Restart…</button><button onClick={() => propose(setRunning(lane.name, false))}>Stop…</button></> : <button onClick={() => propose(setRunning(lane.name, true))}>Start…</button>}
        </div>
      )}
      <h3>Feature gates <span class="count">{Object.keys(known).length}</span></h3>
      {object.error && <p class="error">{object.error}</p>}
      <label class="hidden" for="gate-filter">Filter gates</label>
      <input id="gate-filter" class="wide-input" type="search" placeholder="Filter gates" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
      <ul class="plain gates" tabIndex={0} aria-label="Feature gates">
        {gates.map((gate) => (
          <li key={gate}>
            <button role="switch" aria-checked={known[gate]} disabled={!live} onClick={() => propose(setGate(lane.name, gate, !known[gate]))}>
              <span class="switch" aria-hidden="true" />
              <span>{gate}</span>
            </button>
            {gate in own && live && <button class="link small" onClick={() => propose(setGate(lane.name, gate, null))}>default<span class="hidden"> for {gate}</span>…</button>}
          </li>
        ))}
      </ul>
      <History lane={lane} />
    </>
  );
}
