// Map of the cluster: nodes with their taints and pods, and the pods that wait for a node.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { addTaint } from "./actions";
import { dragTaint, TAINT_DROP } from "./drag";
import { firstReason, formatGates, formatTaint, rowAt, statusAt, type ComponentRow, type Lane, type NodeView, type PodRow, type Taint, type View } from "./model";
import { useShared, useView, useVisibleRows, useWidth } from "./state";
import { Badge } from "./parts";

const CARD_WIDTH_MIN = 200;
const CARD_HEIGHT = 96;
const PODS_MAX = 26;

export function ClusterMap() {
  const view = useView();
  const { model, at } = useShared();
  return (
    <div class="map">
      <Components view={view} />
      <div class="map-columns">
        <section aria-labelledby="nodes-title" class="nodes">
          <div class="section-head">
            <h2 id="nodes-title">Nodes <span class="count">{view.nodes.length.toLocaleString("en")}</span></h2>
            {at === null && view.nodes.length > 0 && <NewTaint />}
          </div>
          {view.nodes.length ? <NodeGrid view={view} /> : <p class="soft">{model.cluster ? "No nodes. Start the cluster with --nodes 3, or create nodes." : "…"}</p>}
        </section>
        <Pending view={view} />
      </div>
    </div>
  );
}

function Components({ view }: { view: View }) {
  const { select, at } = useShared();
  if (!view.components.length) return null;
  return (
    <section aria-label="Components" class="components">
      <ul>
        {view.components.map((lane) => {
          const [state, tone, version, gates, trouble] = rowAt<ComponentRow>(lane, at)!;
          return (
            <li key={lane.key}>
              <button class={`component tone-${tone}`} onClick={() => select(lane)}>
                <b>{lane.name}</b>
                <span class="component-facts">
                  {version}
                  {state !== "Running" && <Badge tone={tone}>{state}</Badge>}
                  {trouble.length > 0 && <Badge tone="wait">{trouble[0].split(":")[0]}</Badge>}
                </span>
                {Object.keys(gates).length > 0 && <span class="component-gates">{formatGates(gates)}</span>}
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

// A taint to drag to a node.
function NewTaint() {
  const [text, setText] = useState("dedicated=gpu:NoSchedule");
  const taint = parseTaint(text);
  return (
    <div class="new-taint">
      <label for="new-taint">Drag this taint to a node</label>
      <input id="new-taint" value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} aria-invalid={taint === null} aria-describedby="new-taint-hint" />
      <span id="new-taint-hint" class="hidden">A taint as kubectl writes it: key=value:Effect. With the keyboard, open a node and add it there.</span>
      {taint && <TaintChip taint={taint} live />}
    </div>
  );
}

export function parseTaint(text: string): Taint | null {
  const found = /^([A-Za-z0-9][\w./-]*)(?:=([\w.-]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text.trim());
  return found ? [found[1], found[2] ?? "", found[3]] : null;
}

function TaintChip({ taint, live }: { taint: Taint; live: boolean }) {
  const text = formatTaint(taint);
  return (
    <span
      class={`taint effect-${taint[2]}`}
      title={live ? `${text} (drag it to another node)` : text}
      onPointerDown={live ? (event) => dragTaint(event, taint) : undefined}
    >
      {text}
    </span>
  );
}

function NodeGrid({ view }: { view: View }) {
  const { select, propose, model, at } = useShared();
  const scroller = useRef<HTMLDivElement>(null);
  const width = useWidth(scroller);
  const columns = Math.max(1, Math.floor(width / CARD_WIDTH_MIN));
  const rowCount = Math.ceil(view.nodes.length / columns);
  const rows = useVisibleRows(scroller, rowCount, CARD_HEIGHT, 3);
  // The card that Tab reaches; arrows move it.
  const [focused, setFocused] = useState(0);
  const moved = useRef(false);
  const current = Math.min(focused, view.nodes.length - 1);

  useEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    const element = scroller.current!;
    const top = Math.floor(current / columns) * CARD_HEIGHT;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + CARD_HEIGHT > element.scrollTop + element.clientHeight) element.scrollTop = top + CARD_HEIGHT - element.clientHeight;
    requestAnimationFrame(() => element.querySelector<HTMLElement>(`[data-index="${current}"]`)?.focus());
  }, [current, columns]);

  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(scroller.current!.clientHeight / CARD_HEIGHT)) * columns;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      moved.current = true;
      setFocused(Math.max(0, Math.min(view.nodes.length - 1, current + step)));
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      select(view.nodes[current].lane);
    }
  };
  const indexOf = (event: Event) => Number((event.target as HTMLElement).closest<HTMLElement>("[data-index]")?.dataset.index ?? -1);
  const onClick = (event: MouseEvent) => {
    const pod = (event.target as HTMLElement).dataset.pod;
    const index = indexOf(event);
    if (index < 0) return;
    setFocused(index);
    select((pod && model.lanes.get(pod)) || view.nodes[index].lane);
  };
  useEffect(() => {
    const element = scroller.current!;
    const onDrop = (event: Event) => {
      const index = indexOf(event);
      if (index >= 0) propose(addTaint(view.nodes[index].lane.name, (event as CustomEvent<Taint>).detail));
    };
    element.addEventListener(TAINT_DROP, onDrop);
    return () => element.removeEventListener(TAINT_DROP, onDrop);
  }, [view, propose]);

  const shown = [];
  for (let row = rows.first; row < rows.last; row++) {
    const nodes = view.nodes.slice(row * columns, (row + 1) * columns);
    shown.push(
      <div key={row} role="row" aria-rowindex={row + 1} class="node-row" style={{ transform: `translateY(${row * CARD_HEIGHT}px)`, gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}>
        {nodes.map((node, column) => (
          <NodeCard key={node.lane.key} node={node} index={row * columns + column} focusable={row * columns + column === current} at={at} version={model.version} />
        ))}
      </div>,
    );
  }
  return (
    <div
      ref={scroller}
      class="scroller node-grid"
      role="grid"
      aria-label="Nodes"
      aria-rowcount={rowCount}
      aria-colcount={columns}
      onKeyDown={onKeyDown}
      onClick={onClick}
    >
      <div class="rows" role="presentation" style={{ height: `${rows.height}px` }}>
        {shown}
      </div>
    </div>
  );
}

const TONES = { bad: 0, wait: 1, terminating: 2, idle: 3, good: 4 };

interface CardProps {
  node: NodeView;
  index: number;
  focusable: boolean;
  at: number | null;
  version: number;
}

function NodeCard({ node, index, focusable, at }: CardProps) {
  const { lane, row, pods } = node;
  const [state, tone, taints] = row;
  // What needs attention comes first, because not every pod fits.
  const shown = pods.length <= 1 ? pods : [...pods].sort((a, b) => TONES[rowAt(a, at)![1]] - TONES[rowAt(b, at)![1]]);
  return (
    <div role="gridcell" class={`node tone-${tone}`} tabIndex={focusable ? 0 : -1} data-index={index}>
      <span class="node-name">
        <span>{lane.name}</span>
        {state !== "Ready" && <Badge tone={tone}>{state.replace("Ready,SchedulingDisabled", "cordoned").replace(",SchedulingDisabled", ", cordoned")}</Badge>}
      </span>
      <span class="hidden">{pods.length === 1 ? "1 pod" : `${pods.length} pods`}{taints.length > 0 && ", taints"}</span>
      <span class="taints">
        {taints.slice(0, 2).map((taint) => <TaintChip key={formatTaint(taint)} taint={taint} live={at === null} />)}
        {taints.length > 2 && <span class="soft">+{taints.length - 2}</span>}
      </span>
      <span class="pods" aria-hidden="true">
        {shown.slice(0, PODS_MAX).map((pod) => <i key={pod.key} data-pod={pod.key} class={`pod tone-${rowAt(pod, at)![1]}`} title={`${pod.name}: ${rowAt(pod, at)![0]}`} />)}
        {pods.length > PODS_MAX && <span class="soft">+{pods.length - PODS_MAX}</span>}
      </span>
    </div>
  );
}

function Pending({ view }: { view: View }) {
  const { at } = useShared();
  const reasons = useMemo(() => {
    const counts = new Map<string, number>();
    for (const lane of view.pending) {
      const reason = firstReason(rowAt<PodRow>(lane, at)!);
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    return counts;
  }, [view, at]);
  return (
    <section aria-labelledby="pending-title" class="pending">
      <div class="section-head">
        <h2 id="pending-title">Pods without a node <span class="count">{view.pending.length.toLocaleString("en")}</span></h2>
      </div>
      {view.pending.length === 0 ? (
        <p class="soft">Every pod has a node.</p>
      ) : (
        <>
          {reasons.size > 1 && <p class="soft small">{reasons.size} different reasons</p>}
          <LaneList label="Pods without a node" lanes={view.pending} describe={(lane) => firstReason(rowAt<PodRow>(lane, at)!)} />
        </>
      )}
    </section>
  );
}

const LINE_HEIGHT = 54;

// List of objects with their state, of any length.
export function LaneList({ label, lanes, describe }: { label: string; lanes: Lane[]; describe: (lane: Lane) => string }) {
  const { select, at, selection } = useShared();
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVisibleRows(scroller, lanes.length, LINE_HEIGHT, 4);
  return (
    <div ref={scroller} class="scroller lane-list" tabIndex={0} role="group" aria-label={label}>
      <ul class="rows" style={{ height: `${rows.height}px` }}>
        {lanes.slice(rows.first, rows.last).map((lane, index) => {
          const status = statusAt(lane, at);
          return (
            <li key={lane.key} aria-setsize={lanes.length} aria-posinset={rows.first + index + 1} style={{ transform: `translateY(${(rows.first + index) * LINE_HEIGHT}px)` }}>
              <button class={selection?.lane === lane ? "selected" : ""} onClick={() => select(lane)}>
                <span class="line-name">
                  {status && <Badge tone={status.tone}>{status.state}</Badge>} <b>{lane.name}</b> {lane.namespace && lane.namespace !== "default" && <span class="soft">{lane.namespace}</span>}
                </span>
                <span class="line-reason">{describe(lane)}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
