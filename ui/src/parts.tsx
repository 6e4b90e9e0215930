// Small parts that several views use.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Action } from "./actions";
import type { Tone } from "./model";

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge tone-${tone}`}>{children}</span>;
}

export function Command({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <div class="command">
      <pre tabIndex={0} aria-label="Command">{text}</pre>
      <button
        onClick={() => {
          void navigator.clipboard?.writeText(text).then(() => setCopied(true));
          setTimeout(() => setCopied(false), 2000);
        }}
      >
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

// Dialog that shows what an action does, and the kubectl command for it, before it is done.
export function ActionDialog({ action, onClose }: { action: Action; onClose: (done: string) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  useLayoutEffect(() => {
    dialog.current!.showModal();
    dialog.current!.querySelector<HTMLElement>(".primary")!.focus();
  }, []);
  const run = async () => {
    setBusy(true);
    setError("");
    try {
      const result = (await action.run()) as { warning?: string } | undefined;
      onClose(result?.warning ? `Done. Warning: ${result.warning}` : `Done: ${action.title}.`);
    } catch (problem) {
      setError((problem as Error).message);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="action-title" onClose={() => onClose("")}>
      <h2 id="action-title">{action.title}</h2>
      <p>{action.effect}</p>
      <p class="soft small">The same with kubectl:</p>
      <Command text={action.command} />
      {error && <p class="error" role="alert">{error}</p>}
      <div class="buttons">
        <button onClick={() => onClose("")}>Cancel</button>
        <button class="primary" disabled={busy} onClick={() => void run()}>
          {busy ? "…" : "Apply"}
        </button>
      </div>
    </dialog>
  );
}

export interface Tab {
  id: string;
  title: string;
}

// Tabs as the ARIA practices describe them: arrows move, and select at once.
export function Tabs({ tabs, chosen, onChoose, label, children }: { tabs: Tab[]; chosen: string; onChoose: (id: string) => void; label: string; children: ComponentChildren }) {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const index = (tabs.findIndex((one) => one.id === chosen) + step + tabs.length) % tabs.length;
    onChoose(tabs[index].id);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")[index].focus();
  };
  return (
    <>
      <div role="tablist" aria-label={label} class="tabs" onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button key={tab.id} role="tab" id={`tab-${tab.id}`} aria-selected={tab.id === chosen} aria-controls={tab.id === chosen ? "tab-panel" : undefined} tabIndex={tab.id === chosen ? 0 : -1} onClick={() => onChoose(tab.id)}>
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${chosen}`} class="tab-panel" tabIndex={0}>
        {children}
      </div>
    </>
  );
}
