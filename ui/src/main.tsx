// Start of the page: logs in, opens the stream, and shows the views.
import { render } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { advanceClock, type Action } from "./actions";
import { Details } from "./details";
import { Explore } from "./explore";
import { ClusterMap, LaneList } from "./map";
import { formatDateTime, formatTime, lastRowAt, Model, sortedLanes, statusAt, type Lane, type PodRow, type View } from "./model";
import { ActionDialog, Badge, Command } from "./parts";
import { forget, hasKey, logIn, logOut } from "./session";
import { SharedContext, useModelVersion, useSeconds, useShared, useView, type Page, type PodList, type Selection, type Shared } from "./state";
import { Timeline } from "./timeline";

const PAGES: { id: Page; title: string }[] = [
  { id: "map", title: "Cluster map" },
  { id: "timeline", title: "Timeline" },
  { id: "explore", title: "Explore" },
];

const model = new Model();

function readPage(): Page {
  return PAGES.find((one) => `#${one.id}` === location.hash)?.id ?? "map";
}

function App() {
  const [page, setPage] = useState<Page>(readPage);
  const [at, setAt] = useState<number | null>(null);
  const [selection, setSelection] = useState<Selection | null>(null);
  const [list, setList] = useState<PodList | null>(null);
  const [action, setAction] = useState<Action | null>(null);
  const [announcement, setAnnouncement] = useState("");
  const opener = useRef<Element | null>(null);
  useModelVersion(model);
  useEffect(() => {
    const follow = () => setPage(readPage());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const select = useCallback((lane: Lane | null, revision = 0) => {
    if (lane === null) {
      setSelection(null);
      if (opener.current instanceof HTMLElement) opener.current.focus();
    } else {
      opener.current = document.activeElement;
      setSelection({ lane, revision });
      setAnnouncement(`Details of ${lane.name}`);
    }
  }, []);
  const shared = useMemo<Shared>(
    () => ({ model, at, setAt, selection, select, list, showList: setList, propose: setAction, announce: setAnnouncement }),
    [at, selection, select, list],
  );
  useEffect(() => {
    const close = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) select(null);
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [select]);
  if (model.connection === "denied") {
    forget();
    return <Welcome />;
  }
  return (
    <SharedContext.Provider value={shared}>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")!.focus(); }}>Skip to the content</a>
      <Header page={page} />
      <div class={`body${selection ? " with-details" : ""}`}>
        <main id="content" tabIndex={-1}>
          {page !== "explore" && <Figures />}
          {page === "map" && <ClusterMap />}
          {page === "timeline" && <Timeline />}
          {page === "explore" && <Explore />}
        </main>
        {selection && <Details key={selection.lane.key} />}
      </div>
      {page !== "explore" && <TimeBar />}
      {list && <ListDialog list={list} onClose={() => setList(null)} />}
      {action && <ActionDialog action={action} onClose={(done) => { setAction(null); if (done) setAnnouncement(done); }} />}
      <Notice text={announcement} />
    </SharedContext.Provider>
  );
}

function Header({ page }: { page: Page }) {
  const cluster = model.cluster;
  return (
    <header class="top">
      <h1>
        <span class="brand" aria-hidden="true">m</span>
        {cluster ? cluster.name : "mockkube"} <span class="soft">{cluster && `Kubernetes ${cluster.version}`}</span>
      </h1>
      <nav aria-label="Views">
        {PAGES.map((one) => (
          <a key={one.id} href={`#${one.id}`} aria-current={page === one.id ? "page" : undefined}>{one.title}</a>
        ))}
      </nav>
      <Search />
      {model.connection !== "live" && <Badge tone="wait">{model.connection === "lost" ? "Connection lost" : "Connecting"}</Badge>}
      <button class="link small" onClick={() => void logOut().then(() => location.reload())}>Log out</button>
    </header>
  );
}

const FOUND_MAX = 40;

// Search by name over everything that is known, deleted objects included.
function Search() {
  const { select } = useShared();
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const wanted = text.trim().toLowerCase();
  const found = useMemo(() => {
    if (!wanted) return [];
    const lanes: Lane[] = [];
    for (const lane of sortedLanes(model)) {
      if (`${lane.namespace}/${lane.name}`.toLowerCase().includes(wanted)) lanes.push(lane);
      if (lanes.length === FOUND_MAX) break;
    }
    return lanes;
  }, [wanted, model.version]);
  const choose = (lane: Lane | undefined) => {
    if (!lane) return;
    setOpen(false);
    select(lane);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      setActive(Math.max(0, Math.min(found.length - 1, active + (event.key === "ArrowDown" ? 1 : -1))));
    } else if (event.key === "Enter") choose(found[active]);
    else if (event.key === "Escape") setOpen(false);
  };
  const expanded = open && wanted !== "";
  return (
    <div class="search" ref={box} onFocusOut={(event) => { if (!box.current!.contains(event.relatedTarget as Node)) setOpen(false); }}>
      <label class="hidden" for="search">Find a pod, node or component, also a deleted one</label>
      <input
        id="search" type="search" list={undefined} placeholder="Find a pod, node or component" autocomplete="off" spellcheck={false} value={text}
        role="combobox" aria-expanded={expanded} aria-controls="found" aria-autocomplete="list" aria-activedescendant={expanded && found.length ? `found-${active}` : undefined}
        onInput={(event) => { setText(event.currentTarget.value); setOpen(true); setActive(0); }}
        onClick={() => setOpen(true)} onKeyDown={onKeyDown}
      />
      <ul id="found" role="listbox" aria-label="Found" class={expanded && found.length ? "found" : "hidden"}>
        {expanded && found.map((lane, index) => {
          const status = statusAt(lane, null);
          return (
            <li key={lane.key} id={`found-${index}`} role="option" aria-selected={index === active} onMouseDown={(event) => { event.preventDefault(); choose(lane); }}>
              {status && <Badge tone={status.tone}>{status.state}</Badge>} {lane.name} <span class="soft small">{lane.namespace || lane.resource.slice(0, -1)}</span>
            </li>
          );
        })}
      </ul>
      {expanded && !found.length && <p class="found none">Nothing has this name{model.complete ? "" : " so far"}.</p>}
    </div>
  );
}

// Numbers of pods by state; each opens the list of these pods.
function Figures() {
  const view = useView();
  const { showList, at } = useShared();
  const lists: { title: string; tone: "bad" | "wait" | "good"; lanes: (view: View) => Lane[] }[] = [
    { title: "Evicted", tone: "bad", lanes: (one) => one.evicted },
    { title: "Failed", tone: "bad", lanes: (one) => one.failed },
    { title: "Pending", tone: "wait", lanes: (one) => one.pending },
  ];
  return (
    <ul class="summary" aria-label="Pods by state">
      <li><b>{view.podCount.toLocaleString("en")}</b> pods</li>
      <li><b>{(view.counts.get("Running") ?? 0).toLocaleString("en")}</b> running</li>
      {lists.map((one) => {
        const count = one.lanes(view).length;
        return (
          <li key={one.title}>
            <button class={count ? `tone-${one.tone}` : ""} disabled={!count} onClick={() => showList({ title: `${one.title} pods`, lanes: one.lanes })}>
              <b>{count.toLocaleString("en")}</b> {one.title.toLowerCase()}
            </button>
          </li>
        );
      })}
      {at !== null && <li><Badge tone="wait">{formatDateTime(at)}</Badge></li>}
    </ul>
  );
}

function ListDialog({ list, onClose }: { list: PodList; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const view = useView();
  const { at, selection } = useShared();
  const first = useRef(selection);
  useLayoutEffect(() => {
    dialog.current!.showModal();
  }, []);
  // A chosen pod is shown in the panel of details, which the dialog would cover.
  useEffect(() => {
    if (selection !== first.current) onClose();
  }, [selection]);
  const lanes = list.lanes(view);
  return (
    <dialog ref={dialog} class="list" aria-labelledby="list-title" onClose={onClose}>
      <div class="section-head">
        <h2 id="list-title">{list.title} <span class="count">{lanes.length}</span></h2>
        <button class="close" aria-label="Close" onClick={onClose}>✕</button>
      </div>
      <LaneList label={list.title} lanes={lanes} describe={(lane) => describePod(lastRowAt<PodRow>(lane, at))} />
    </dialog>
  );
}

function describePod(row: PodRow | null): string {
  if (!row) return "";
  return [row[3], row[4]].filter(Boolean).join(": ") || row[5];
}

// Bar to move through the past, and the clock if its time is virtual.
function TimeBar() {
  const { at, setAt, propose } = useShared();
  useSeconds(at === null);
  const now = model.now();
  const start = model.start || now;
  const [step, setStep] = useState("1m");
  return (
    <footer class="time-bar">
      <button class={at === null ? "live on" : "live"} aria-pressed={at === null} onClick={() => setAt(null)}>Live</button>
      <label class="hidden" for="scrub">Time that is shown</label>
      <input
        id="scrub" type="range" min={start} max={Math.max(now, start + 1000)} step={500} value={at ?? now} disabled={!model.complete}
        aria-valuetext={at === null ? "live" : formatDateTime(at)}
        onInput={(event) => { const value = Number(event.currentTarget.value); setAt(value >= now - 500 ? null : value); }}
      />
      <output class="time">{formatTime(at ?? now)} <span class="soft">UTC</span></output>
      {model.cluster?.clock === "Virtual" && (
        <form class="clock" onSubmit={(event) => { event.preventDefault(); propose(advanceClock(step)); }}>
          <label class="hidden" for="clock-step">Duration</label>
          <input id="clock-step" value={step} size={4} onInput={(event) => setStep(event.currentTarget.value)} />
          <button disabled={!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(step)}>Move the clock…</button>
        </form>
      )}
    </footer>
  );
}

function Notice({ text }: { text: string }) {
  const [shown, setShown] = useState("");
  useEffect(() => {
    setShown(text);
    if (!text.startsWith("Done")) return;
    const timer = setTimeout(() => setShown(""), 6000);
    return () => clearTimeout(timer);
  }, [text]);
  return <div role="status" class={shown.startsWith("Done") ? "notice" : "hidden"}>{shown}</div>;
}

function Welcome() {
  return (
    <main class="welcome">
      <h1>mockkube</h1>
      <p>This page needs a link that logs you in. Each link works once, for ten minutes. Get one with:</p>
      <Command text="mockkube ui" />
    </main>
  );
}

const root = document.getElementById("app")!;
const loggedIn = await logIn().catch(() => hasKey());
if (loggedIn) {
  render(<App />, root);
  void model.run();
} else render(<Welcome />, root);
