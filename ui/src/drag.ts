// Drags a taint to a node of the map, with a mouse, a pen or a finger.
import type { Taint } from "./model";

export const TAINT_DROP = "taint-drop";
const THRESHOLD = 6;
// Near the edges of the map the nodes scroll, so that every node can be reached.
const EDGE = 48;
const SCROLL_STEP = 12;

export function dragTaint(event: PointerEvent, taint: Taint): void {
  if (event.button !== 0) return;
  const chip = event.currentTarget as HTMLElement;
  const begin = { x: event.clientX, y: event.clientY };
  const grid = document.querySelector<HTMLElement>(".node-grid");
  let at = begin;
  let ghost: HTMLElement | null = null;
  let over: Element | null = null;
  let frame = 0;

  const mark = (element: Element | null) => {
    over?.classList.remove("drop");
    element?.classList.add("drop");
    over = element;
  };
  const follow = () => {
    ghost!.style.transform = `translate(${at.x + 8}px, ${at.y + 8}px)`;
    mark(document.elementFromPoint(at.x, at.y)?.closest(".node-grid [data-index]") ?? null);
  };
  const scroll = () => {
    const box = grid!.getBoundingClientRect();
    if (at.y < box.top + EDGE) grid!.scrollTop -= SCROLL_STEP;
    else if (at.y > box.bottom - EDGE) grid!.scrollTop += SCROLL_STEP;
    follow();
    frame = requestAnimationFrame(scroll);
  };
  const move = (moved: PointerEvent) => {
    at = { x: moved.clientX, y: moved.clientY };
    if (ghost === null) {
      if (Math.hypot(at.x - begin.x, at.y - begin.y) < THRESHOLD) return;
      ghost = chip.cloneNode(true) as HTMLElement;
      ghost.classList.add("ghost");
      ghost.setAttribute("aria-hidden", "true");
      document.body.append(ghost);
      if (grid) frame = requestAnimationFrame(scroll);
    }
    follow();
  };
  const end = (ended: Event) => {
    for (const name of ["pointermove", "pointerup", "pointercancel"]) removeEventListener(name, listeners[name] as EventListener);
    removeEventListener("keydown", cancel, true);
    cancelAnimationFrame(frame);
    const target = over;
    mark(null);
    if (ghost === null) return;
    ghost.remove();
    // The click at the end of a drag opens nothing.
    const stop = (click: Event) => click.stopPropagation();
    addEventListener("click", stop, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", stop, { capture: true }));
    if (ended.type === "pointerup") target?.dispatchEvent(new CustomEvent(TAINT_DROP, { bubbles: true, detail: taint }));
  };
  const cancel = (pressed: KeyboardEvent) => {
    if (pressed.key !== "Escape" || ghost === null) return;
    pressed.stopPropagation();
    end(pressed);
  };
  const listeners: Record<string, unknown> = { pointermove: move, pointerup: end, pointercancel: end };
  for (const [name, listener] of Object.entries(listeners)) addEventListener(name, listener as EventListener);
  addEventListener("keydown", cancel, true);
}
