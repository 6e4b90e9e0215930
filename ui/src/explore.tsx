// Result of `mockkube explore -o json`: the orders, their matrix, and a player of counterexamples; or an atlas of gates.
import { useEffect, useRef, useState } from "preact/hooks";
import { AtlasView, type Atlas } from "./atlas";
import type { Tone } from "./model";
import { Badge, Command } from "./parts";
import { get } from "./session";

type Harm = Record<string, number>;

interface Break {
  invariant: string;
  text: string;
}

interface Outcome {
  harm: Harm;
  breaks: Break[];
}

interface Order extends Outcome {
  phase: "up" | "down";
  order: string[];
  prepares?: string;
  // Harm as one number; older results have none.
  score?: number;
  written?: { name: string; claim: boolean | null }[];
  verdict: "safe" | "unsafe" | "not tried";
  // By the version skew policy; older results do not say.
  supported?: boolean;
}

interface Pair {
  up: string[];
  down: string[];
  score: number;
  upResult: Outcome;
  downResult: Outcome;
  retryResult: Outcome;
}

interface Counterexample extends Break {
  moves: string[];
  // As `mockkube explore --trace` writes it; older results have none.
  scenario?: string;
}

interface Exploration {
  plan: string;
  title?: string;
  setting?: string;
  // The answer in a sentence.
  answer?: string;
  paths: number;
  states: number;
  orders: Order[];
  pairs: Pair[];
  counterexamples: Counterexample[];
}

type Content = Exploration | Atlas;

function isExploration(content: Content): content is Exploration {
  return "orders" in content;
}

// `mockkube atlas -o json` prints a list of gates, and its folder has a file with an object.
function normalize(found: Content | Atlas["gates"]): Content {
  return Array.isArray(found) ? { gates: found } : found;
}

export function Explore() {
  const [content, setContent] = useState<Content | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    get<Content | Atlas["gates"] | null>("exploration").then((found) => setContent((old) => old ?? (found && normalize(found))), (problem: Error) => setError(problem.message));
  }, []);
  const load = async (file: File | undefined) => {
    if (!file) return;
    try {
      const found = normalize(JSON.parse(await file.text()) as Content | Atlas["gates"]);
      const known = isExploration(found) ? [found.orders, found.pairs, found.counterexamples] : [found.gates];
      if (!known.every(Array.isArray)) throw new Error("it has neither orders nor gates");
      setContent(found);
      setError("");
    } catch (problem) {
      setError(`${file.name} is no result of mockkube explore -o json, and no atlas: ${(problem as Error).message}`);
    }
  };
  return (
    <section class="explore" aria-label="Exploration">
      {error && <p class="error" role="alert">{error}</p>}
      {content && (isExploration(content) ? <Result exploration={content} /> : <AtlasView atlas={content} />)}
      <div class="box">
        <h2>{content ? "Show another result" : "No result yet"}</h2>
        <p>An exploration tries every order in which components can change; an atlas does so for feature gates. Write one, then open it here or with the command.</p>
        <Command text={"mockkube explore PLAN -o json > result.json\nmockkube atlas GATE -o json > result.json\nmockkube ui --exploration result.json"} />
        <label class="file">
          Open a result <input type="file" accept="application/json,.json" onChange={(event) => void load(event.currentTarget.files?.[0])} />
        </label>
      </div>
    </section>
  );
}

function Result({ exploration }: { exploration: Exploration }) {
  const count = (phase: string, verdict?: string) => exploration.orders.filter((one) => one.phase === phase && (!verdict || one.verdict === verdict)).length;
  return (
    <>
      <div class="answer">
        <p class="soft small">{[exploration.title ?? exploration.plan, exploration.setting].filter(Boolean).join(" · ")}</p>
        <h2>{exploration.answer ?? exploration.plan}</h2>
      </div>
      <Orders exploration={exploration} />
      <ul class="figures">
        <li><b>{count("up", "safe")} of {count("up")}</b> orders up are safe</li>
        <li><b>{count("down", "safe")} of {count("down")}</b> orders down are safe</li>
        <li><b>{exploration.paths}</b> paths tried</li>
        <li><b>{exploration.counterexamples.length}</b> invariants broken</li>
      </ul>
      {exploration.counterexamples.length > 0 && <Player exploration={exploration} />}
      <Matrix exploration={exploration} />
    </>
  );
}

const PARTS = 6;
const ROWS_MAX = 24;
const VERDICTS: Record<Order["verdict"], Tone> = { safe: "good", unsafe: "bad", "not tried": "idle" };

export interface OrderRow {
  steps: string[];
  tone: Tone;
  result: string;
  // Harm; 0 for no bar.
  score: number;
  marked?: string;
}

// Orders as rows of steps with their results, as the reports draw them (mockkube/report/drawing/order_drawing.py).
export function OrderList({ title, rows, names, worst }: { title: string; rows: OrderRow[]; names: string[]; worst: number }) {
  const shown = rows.length <= ROWS_MAX ? rows : [...rows.slice(0, ROWS_MAX / 2), ...rows.slice(-ROWS_MAX / 2)];
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ol class="orders">
        {shown.map((row) => (
          <li key={row.steps.join(">")} class={`tone-${row.tone}`}>
            {row.steps.map((name) => <span key={name} class={`part part-${(names.indexOf(name) % PARTS) + 1}`} title={name}>{shortName(name)}</span>)}
            <span class="result">
              {row.score > 0 && <i class="bar" style={{ width: `${Math.max(2, (row.score / worst) * 60)}px` }} />}
              <span class={row.score > 0 ? "hidden" : ""}>{row.result}{row.score > 0 && ", harm "}</span>
              {row.score > 0 && row.score}
              {row.marked && <span title={row.marked}> ★</span>}
            </span>
          </li>
        ))}
      </ol>
      {shown.length < rows.length && <p class="soft small">{rows.length - shown.length} orders between these are not shown.</p>}
    </section>
  );
}

// Every order of an exploration, safe ones first.
function Orders({ exploration }: { exploration: Exploration }) {
  const names = [...new Set(exploration.orders.flatMap((one) => one.order))].sort();
  const worst = Math.max(1, ...exploration.orders.filter((one) => !one.prepares).map((one) => one.score ?? 0));
  return (
    <div class="order-panels">
      {(["up", "down"] as const).map((phase) => {
        const orders = exploration.orders.filter((one) => one.phase === phase && !one.prepares);
        const supported = orders.filter((one) => one.supported !== false);
        const safe = supported.filter((one) => one.verdict === "safe").length;
        const kind = supported.length < orders.length ? "supported orders" : "orders";
        const rows = orders
          .map((one) => ({
            steps: one.order,
            tone: one.supported === false && one.verdict !== "unsafe" ? ("idle" as Tone) : VERDICTS[one.verdict],
            result: one.verdict === "unsafe" ? "not safe" : one.supported === false ? "not supported" : one.verdict,
            score: one.verdict === "unsafe" ? (one.score ?? 0) : 0,
            marked: one.written?.map((each) => each.name).join(", "),
          }))
          .sort((a, b) => Number(a.tone !== "good") - Number(b.tone !== "good") || a.score - b.score);
        const title = `${phase === "up" ? "Up" : "Down"}: ${safe || "none"} of ${supported.length} ${kind} ${safe > 1 ? "are" : "is"} safe`;
        return <OrderList key={phase} title={title} rows={rows} names={names} worst={worst} />;
      })}
      <p class="soft small">Read a row from left to right: the component that changes first, second, and so on. The longer the bar, the more harm. ★ an order from the document.</p>
    </div>
  );
}

const SPEEDS = [0.5, 1, 2, 4];

function Player({ exploration }: { exploration: Exploration }) {
  const examples = exploration.counterexamples;
  const [chosen, setChosen] = useState(0);
  const [step, setStep] = useState(0);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const example = examples[Math.min(chosen, examples.length - 1)];
  // The moves, and then what breaks.
  const last = example.moves.length + 1;
  useEffect(() => {
    setStep(0);
    setPlaying(false);
  }, [chosen, exploration]);
  useEffect(() => {
    if (!playing) return;
    if (step >= last) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(() => setStep(step + 1), 1200 / speed);
    return () => clearTimeout(timer);
  }, [playing, step, speed, last]);
  const components = [...new Set(exploration.orders.flatMap((one) => one.order))];
  const changed = new Map(components.map((one) => [one, false]));
  for (const move of example.moves.slice(0, step)) {
    const [component, direction] = move.split(" ");
    changed.set(component, direction === "up");
  }
  const moved = step > 0 && step <= example.moves.length ? example.moves[step - 1].split(" ")[0] : "";
  const play = () => {
    if (!playing && step >= last) setStep(0);
    setPlaying(!playing);
  };
  return (
    <section class="player" aria-labelledby="player-title">
      <h3 id="player-title">How it breaks</h3>
      <label>
        Counterexample to{" "}
        <select value={chosen} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
          {examples.map((one, index) => <option key={one.invariant + index} value={index}>{one.invariant}</option>)}
        </select>
      </label>
      <div class="buttons start" role="group" aria-label="Player">
        <button onClick={() => setStep(0)} disabled={step === 0}>Start</button>
        <button onClick={() => setStep(step - 1)} disabled={step === 0}>Back</button>
        <button class="primary" onClick={play}>{playing ? "Pause" : "Play"}</button>
        <button onClick={() => setStep(step + 1)} disabled={step >= last}>Step</button>
        <label>
          Speed{" "}
          <select value={speed} onChange={(event) => setSpeed(Number(event.currentTarget.value))}>
            {SPEEDS.map((one) => <option key={one} value={one}>{one}×</option>)}
          </select>
        </label>
      </div>
      <ul class="settings">
        {components.map((one) => (
          <li key={one} class={`${changed.get(one) ? "changed" : ""}${one === moved ? " moved" : ""}`}>
            <b>{one}</b> <span>{changed.get(one) ? "new setting" : "old setting"}</span>
          </li>
        ))}
      </ul>
      <ol class="moves">
        {example.moves.map((move, index) => {
          const [component, direction] = move.split(" ");
          return (
            <li key={index} aria-current={step === index + 1 ? "step" : undefined} class={step > index ? "done" : ""}>
              <button class="link" onClick={() => setStep(index + 1)}>{component} {direction === "up" ? "changes" : "changes back"}</button>
            </li>
          );
        })}
        <li aria-current={step === last ? "step" : undefined} class={step === last ? "done broken" : ""}>
          <button class="link" onClick={() => setStep(last)}>{example.invariant} breaks</button>
        </li>
      </ol>
      <div aria-live="polite">{step === last && <p class="box tone-bad">{example.text}</p>}</div>
      <p class="soft small">The same as a scenario, which passes as long as the order breaks something:</p>
      {example.scenario && <p><Download name={`${example.invariant}.yaml`} text={example.scenario} /></p>}
      <Command text={`mockkube explore PLAN --trace ${example.invariant} > broken.yaml\nmockkube test -v broken.yaml`} />
    </section>
  );
}

// Link to a file that the page makes.
function Download({ name, text }: { name: string; text: string }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [text]);
  return <a href={url} download={name}>Download the scenario {name}</a>;
}

const SHADES = [0, 50, 150, 400, 800];

function shade(score: number): number {
  return SHADES.filter((one) => score > one).length;
}

const SHORT: Record<string, string> = { "kube-apiserver": "apiserver", "kube-scheduler": "scheduler", "kube-controller-manager": "ctrl-mgr", kubelet: "kubelets" };

function shortName(name: string): string {
  return SHORT[name] ?? name;
}

function shortOrder(order: string[]): string {
  return order.map(shortName).join(" → ");
}

function describeHarm(outcome: Outcome): string {
  const parts = Object.entries(outcome.harm).filter(([, count]) => count > 0).map(([kind, count]) => `${kind} ${count}`);
  return parts.length ? parts.join(", ") : "no harm";
}

function Matrix({ exploration }: { exploration: Exploration }) {
  const key = (order: string[]) => order.join(">");
  const ups = [...new Set(exploration.pairs.map((one) => key(one.up)))];
  const downs = [...new Set(exploration.pairs.map((one) => key(one.down)))];
  const cells = new Map(exploration.pairs.map((one) => [`${key(one.up)} ${key(one.down)}`, one]));
  const [row, setRow] = useState(0);
  const [column, setColumn] = useState(0);
  const grid = useRef<HTMLDivElement>(null);
  const moved = useRef(false);
  useEffect(() => {
    if (moved.current) grid.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
    moved.current = false;
  }, [row, column]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    moved.current = true;
    setRow(Math.max(0, Math.min(ups.length - 1, row + step[0])));
    setColumn(Math.max(0, Math.min(downs.length - 1, column + step[1])));
  };
  const chosen = cells.get(`${ups[row]} ${downs[column]}`);
  return (
    <section aria-labelledby="matrix-title">
      <h3 id="matrix-title">Every order up with every order down</h3>
      <p class="soft small">A row is an order up, a column an order down; the darker, the more harm. Arrow keys move.</p>
      <ul class="legend small" aria-label="Harm">
        {["no harm", "up to 50", "up to 150", "up to 400", "up to 800", "more"].map((one, index) => <li key={one}><i class={`key shade-${index}`} /> {one}</li>)}
      </ul>
      <div class="matrix-columns">
        <div class="wide">
          <div ref={grid} role="grid" aria-label="Orders" class="matrix" onKeyDown={onKeyDown} aria-rowcount={ups.length} aria-colcount={downs.length} style={{ gridTemplateColumns: `repeat(${downs.length}, minmax(20px, 1fr))` }}>
            {ups.map((up, upIndex) => (
              <div role="row" key={up} class="matrix-row">
                {downs.map((down, downIndex) => {
                  const cell = cells.get(`${up} ${down}`);
                  const focused = upIndex === row && downIndex === column;
                  return (
                    <div
                      role="gridcell"
                      key={down}
                      class={`cell shade-${cell ? shade(cell.score) : "none"}`}
                      tabIndex={focused ? 0 : -1}
                      aria-selected={focused}
                      aria-label={cell ? `up ${shortOrder(cell.up)}, down ${shortOrder(cell.down)}: harm ${cell.score}` : "not tried"}
                      title={cell && `up ${shortOrder(cell.up)}\ndown ${shortOrder(cell.down)}\nharm ${cell.score}`}
                      onClick={() => {
                        setRow(upIndex);
                        setColumn(downIndex);
                      }}
                    />
                  );
                })}
              </div>
            ))}
          </div>
        </div>
        {chosen && (
          <div class="box pair-details" aria-live="polite">
            <p><Badge tone={chosen.score ? "bad" : "good"}>harm {chosen.score}</Badge></p>
            <h4>Up: {shortOrder(chosen.up)}</h4>
            <Outcomes outcome={chosen.upResult} />
            <h4>Down: {shortOrder(chosen.down)}</h4>
            <Outcomes outcome={chosen.downResult} />
            <h4>All up again</h4>
            <Outcomes outcome={chosen.retryResult} />
          </div>
        )}
      </div>
    </section>
  );
}

function Outcomes({ outcome }: { outcome: Outcome }) {
  return (
    <>
      <p class="small">{describeHarm(outcome)}</p>
      {outcome.breaks.length > 0 && (
        <ul class="small">
          {outcome.breaks.map((one) => <li key={one.invariant + one.text}><b>{one.invariant}</b>: {one.text}</li>)}
        </ul>
      )}
    </>
  );
}
