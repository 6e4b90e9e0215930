// Result of `mockkube atlas -o json`: feature gates that are on for some components only.
import { useState } from "preact/hooks";
import { OrderList } from "./explore";
import type { Tone } from "./model";
import { Badge } from "./parts";

type Verdict = "safe" | "differs" | "unsafe" | "not tried";

interface GateOrder {
  order: string[];
  verdict: Verdict;
  breaks: unknown[];
  differences: string[];
}

interface Gate {
  gate: string;
  stages: { version: string; maturity: string; is_on: boolean; is_locked: boolean }[];
  status: string;
  feature: string;
  reason: string;
  version: string;
  readers: { component: string; is_exercised: boolean }[];
  states: { on: string[]; like: string; differences: string[] }[];
  up: GateOrder[];
  down: GateOrder[];
  rollback: { existing: string[]; updated: string[]; new: string[] } | null;
}

export interface Atlas {
  gates: Gate[];
}

const TONES: Record<Verdict, Tone> = { safe: "good", differs: "wait", unsafe: "bad", "not tried": "idle" };
const WORST: Verdict[] = ["unsafe", "differs", "not tried", "safe"];
const ANSWERS: Record<Verdict, string> = {
  safe: "safe in every order, up and down",
  differs: "no order breaks anything, but some leave other objects than the gate alone would",
  unsafe: "not safe in every order",
  "not tried": "not tried",
};
const SHOWN_MAX = 200;

function judge(gate: Gate): Verdict {
  const verdicts = [...gate.up, ...gate.down].map((one) => one.verdict);
  return WORST.find((one) => verdicts.includes(one)) ?? "not tried";
}

export function AtlasView({ atlas }: { atlas: Atlas }) {
  const [filter, setFilter] = useState("");
  const [chosen, setChosen] = useState(0);
  const played = atlas.gates.filter((one) => one.up.length > 0);
  const safe = played.filter((one) => judge(one) === "safe").length;
  const found = played.filter((one) => one.gate.toLowerCase().includes(filter.toLowerCase()));
  const gate = found[Math.min(chosen, found.length - 1)];
  return (
    <>
      <div class="answer">
        <p class="soft small">Feature gates that are on for some components only</p>
        <h2>{played.length === 1 ? `${played[0].gate}: ${ANSWERS[judge(played[0])]}.` : `${safe} of ${played.length} feature gates are safe in every order, up and down.`}</h2>
      </div>
      {played.length > 1 && (
        <div class="toolbar">
          <label>
            Filter gates <input type="search" value={filter} onInput={(event) => { setFilter(event.currentTarget.value); setChosen(0); }} />
          </label>
          <label>
            Gate{" "}
            <select value={Math.min(chosen, found.length - 1)} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
              {found.slice(0, SHOWN_MAX).map((one, index) => <option key={one.gate} value={index}>{one.gate} ({judge(one)})</option>)}
            </select>
          </label>
        </div>
      )}
      {gate ? <GateView gate={gate} /> : <p class="soft">No gate that was played has this name.</p>}
    </>
  );
}

function GateView({ gate }: { gate: Gate }) {
  const names = gate.readers.map((one) => one.component).sort();
  const list = (orders: GateOrder[]) => orders.map((one) => ({ steps: one.order, tone: TONES[one.verdict], result: one.verdict, score: 0 }));
  const troubles = [...new Set([...gate.up, ...gate.down].flatMap((one) => one.differences))];
  return (
    <section aria-label={gate.gate}>
      <h3>{gate.gate} <Badge tone={TONES[judge(gate)]}>{judge(gate)}</Badge></h3>
      <p>{gate.feature.replaceAll("`", "")}</p>
      <p class="soft small">{gate.stages.map((one) => `${one.version} ${one.maturity || "unknown"}${one.maturity && (one.is_on ? ", on" : ", off")}${one.is_locked ? ", locked" : ""}`).join(" · ")} · played at {gate.version}</p>
      <div class="order-panels">
        <OrderList title="To turn it on" rows={list(gate.up)} names={names} worst={1} />
        <OrderList title="To turn it off" rows={list(gate.down)} names={names} worst={1} />
      </div>
      {troubles.length > 0 && <Lines title="What happens in orders that are not safe" lines={troubles} />}
      <h4>Half-way states</h4>
      <ul class="states">
        {gate.states.map((state) => (
          <li key={state.on.join()}>
            <b>{state.on.length ? `On for ${state.on.join(", ")}` : "Off everywhere"}</b>
            {state.on.length > 0 && state.like && `: as if it were ${state.like} everywhere`}
            {(!state.like || !state.on.length) && <Lines lines={state.differences} />}
          </li>
        ))}
      </ul>
      {gate.rollback && (
        <>
          <Lines title="After it is turned off, objects that exist" lines={gate.rollback.existing} nothing="stay as they are" />
          <Lines title="After users update another field of them" lines={gate.rollback.updated} nothing="they stay as they are" />
          <Lines title="New objects" lines={gate.rollback.new} nothing="are as before" />
        </>
      )}
    </section>
  );
}

function Lines({ title, lines, nothing }: { title?: string; lines: string[]; nothing?: string }) {
  return (
    <>
      {title && <h4>{title}{lines.length === 0 && nothing && `: ${nothing}`}</h4>}
      {lines.length > 0 && <ul class="lines">{lines.map((one) => <li key={one}>{one.replaceAll("`", "")}</li>)}</ul>}
    </>
  );
}
