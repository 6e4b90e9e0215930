// Timeline: a lane for each component, node and pod with the states that it went through.
import { useMemo, useRef, useState } from "preact/hooks";
import { formatTime, makeSpans, sortedLanes, type Lane, type Resource, type Span } from "./model";
import { useModelVersion, useSeconds, useShared, useVisibleRows, useWidth } from "./state";

const LANE_HEIGHT = 30;
// A long name is cut before its last letters, which tell pods of one owner apart.
const SUFFIX = 6;
const WINDOWS = [
  { title: "everything", seconds: Infinity },
  { title: "the last hour", seconds: 3600 },
  { title: "the last 10 minutes", seconds: 600 },
  { title: "the last minute", seconds: 60 },
];
const SHOWN: { id: Resource; title: string }[] = [
  { id: "components", title: "Components" },
  { id: "nodes", title: "Nodes" },
  { id: "pods", title: "Pods" },
];

export function Timeline() {
  const { model, at, setAt } = useShared();
  const version = useModelVersion(model);
  const [shown, setShown] = useState<Record<Resource, boolean>>({ components: true, nodes: true, pods: true });
  const [text, setText] = useState("");
  const [onlyTrouble, setOnlyTrouble] = useState(false);
  const [windowIndex, setWindowIndex] = useState(0);
  useSeconds(at === null);

  const lanes = useMemo(() => {
    const wanted = text.toLowerCase();
    return sortedLanes(model).filter((lane) => shown[lane.resource] && (!wanted || `${lane.namespace}/${lane.name}`.toLowerCase().includes(wanted)) && (!onlyTrouble || hasTrouble(lane)));
  }, [model, version, shown, text, onlyTrouble]);

  const end = Math.max(model.now(), at ?? 0);
  const start = Math.max(model.start || end, end - WINDOWS[windowIndex].seconds * 1000);
  const span = Math.max(1000, end - start);
  const scroller = useRef<HTMLDivElement>(null);
  const axis = useRef<HTMLDivElement>(null);
  const width = useWidth(axis);
  const rows = useVisibleRows(scroller, lanes.length, LANE_HEIGHT, 6);
  const percent = (time: number) => Math.min(100, Math.max(0, ((time - start) / span) * 100));

  return (
    <section class="timeline" aria-label="Timeline">
      <div class="toolbar">
        <fieldset class="checks">
          <legend class="hidden">Lanes</legend>
          {SHOWN.map((one) => (
            <label key={one.id}>
              <input type="checkbox" checked={shown[one.id]} onChange={(event) => setShown({ ...shown, [one.id]: event.currentTarget.checked })} /> {one.title}
            </label>
          ))}
          <label>
            <input type="checkbox" checked={onlyTrouble} onChange={(event) => setOnlyTrouble(event.currentTarget.checked)} /> Only with trouble
          </label>
        </fieldset>
        <label class="hidden" for="lane-filter">Filter lanes by name</label>
        <input id="lane-filter" type="search" placeholder="Filter by name" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        <label>
          Show{" "}
          <select value={windowIndex} onChange={(event) => setWindowIndex(Number(event.currentTarget.value))}>
            {WINDOWS.map((one, index) => <option key={one.title} value={index}>{one.title}</option>)}
          </select>
        </label>
      </div>
      <Legend />
      <div class="lane axis" aria-hidden="true">
        <span class="lane-name soft small">{lanes.length.toLocaleString("en")} lanes</span>
        <div ref={axis} class="track" onClick={(event) => setAt(start + ((event.clientX - axis.current!.getBoundingClientRect().left) / width) * span)}>
          {makeTicks(start, end, width).map((one) => <span key={one} class="tick" style={{ left: `${percent(one)}%` }}>{formatTime(one)}</span>)}
        </div>
      </div>
      <div ref={scroller} class="scroller lanes" tabIndex={0} role="group" aria-label="Lanes">
        <ul class="rows" style={{ height: `${rows.height}px` }}>
          {lanes.slice(rows.first, rows.last).map((lane, index) => (
            <LaneRow key={lane.key} lane={lane} top={(rows.first + index) * LANE_HEIGHT} position={rows.first + index + 1} count={lanes.length} start={start} end={end} span={span} at={at} length={lane.times.length} />
          ))}
        </ul>
      </div>
    </section>
  );
}

// A pod that only waited for its node and its containers had none.
function hasTrouble(lane: Lane): boolean {
  return lane.rows.some((row, index) => {
    if (row === null || row[1] === "good" || row[1] === "terminating") return false;
    if (lane.resource !== "pods" || row[1] === "bad") return row[1] !== "idle";
    const isLast = index === lane.rows.length - 1;
    return row[0] === "NotReady" ? isLast : row[3] !== "";
  });
}

function Legend() {
  return (
    <ul class="legend small" aria-label="Colours">
      <li><i class="key tone-good" /> running, ready</li>
      <li><i class="key tone-wait" /> pending, cordoned, looping</li>
      <li><i class="key tone-bad" /> evicted, failed, not ready</li>
      <li><i class="key tone-terminating" /> terminating</li>
      <li><i class="key tone-idle" /> stopped</li>
      <li><i class="key unknown" /> unknown: the store has compacted it</li>
    </ul>
  );
}

interface LaneRowProps {
  lane: Lane;
  top: number;
  position: number;
  count: number;
  start: number;
  end: number;
  span: number;
  at: number | null;
  length: number;
}

function LaneRow({ lane, top, position, count, start, end, span, at, length }: LaneRowProps) {
  const { select, selection, model } = useShared();
  const spans = useMemo(() => makeSpans(lane), [lane, length]);
  const percent = (time: number) => Math.min(100, Math.max(0, ((time - start) / span) * 100));
  const visible = spans.filter((one) => one.to > start && one.from < end && !(one.gone && one.text === "Gone"));
  const choose = (one: Span | null) => select(lane, one?.revision ?? 0);
  // What existed before the history begins is known from then on only.
  const unknown = spans.length > 0 && spans[0].from === 0 && start < model.start;
  return (
    <li class={`lane${selection?.lane === lane ? " selected" : ""}`} aria-setsize={count} aria-posinset={position} style={{ transform: `translateY(${top}px)` }}>
      <button class="lane-name" onClick={() => choose(null)} aria-label={`${lane.name}: ${spans.slice(-8).map((one) => `${one.from > 0 ? formatTime(one.from) : "before"} ${one.text}`).join("; ")}`}>
        {lane.resource === "pods" && <span class="soft">↳ </span>}
        <span class="name-start">{lane.name.slice(0, -SUFFIX)}</span>
        <span>{lane.name.slice(-SUFFIX)}</span>
      </button>
      <div class="track" aria-hidden="true">
        {unknown && <span class="span unknown" style={{ left: "0", width: `${percent(model.start)}%` }} title="unknown: the store has compacted it" />}
        {visible.map((one) => {
          const left = percent(Math.max(one.from, model.start));
          const right = one.gone ? left : percent(Math.min(one.to, end));
          return (
            <span key={one.from + one.text} class={`span tone-${one.tone}${one.gone ? " end" : right - left < 1 ? " narrow" : ""}`} style={{ left: `${left}%`, width: `max(3px, ${right - left}%)` }} title={`${formatTime(one.from)} ${one.text}`} onClick={() => choose(one)}>
              {one.text}
            </span>
          );
        })}
        {at !== null && <span class="cursor" style={{ left: `${percent(at)}%` }} />}
      </div>
    </li>
  );
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

function makeTicks(start: number, end: number, width: number): number[] {
  const most = Math.max(2, Math.floor(width / 90));
  const step = (STEPS.find((one) => (end - start) / (one * 1000) <= most) ?? 86400 * 7) * 1000;
  const ticks: number[] = [];
  for (let at = Math.ceil(start / step) * step; at <= end && ticks.length < 50; at += step) ticks.push(at);
  return ticks;
}
