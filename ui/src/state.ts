// State of the page that several parts share, and the hooks with which they read it.
import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";
import type { Action } from "./actions";
import { makeView, type Lane, type Model, type View } from "./model";

export type Page = "map" | "timeline" | "explore";

export interface Selection {
  lane: Lane;
  // Revision to show first; 0: that of the present time.
  revision: number;
}

export interface PodList {
  title: string;
  lanes: (view: View) => Lane[];
}

export interface Shared {
  model: Model;
  // Time that is shown; null: the present.
  at: number | null;
  setAt: (at: number | null) => void;
  selection: Selection | null;
  select: (lane: Lane | null, revision?: number) => void;
  list: PodList | null;
  showList: (list: PodList | null) => void;
  propose: (action: Action) => void;
  announce: (text: string) => void;
}

export const SharedContext = createContext<Shared>(null as unknown as Shared);

export function useShared(): Shared {
  return useContext(SharedContext);
}

// Render again when the model changes.
export function useModelVersion(model: Model): number {
  const [version, setVersion] = useState(model.version);
  useEffect(() => model.subscribe(() => setVersion(model.version)), [model]);
  return version;
}

export function useView(): View {
  const { model, at } = useShared();
  const version = useModelVersion(model);
  return useMemo(() => makeView(model, at), [model, at, version]);
}

// Render again every second, for clocks and for lanes that reach to the present.
export function useSeconds(active: boolean): void {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => tick((one) => one + 1), 1000);
    return () => clearInterval(timer);
  }, [active]);
}

export interface Rows {
  first: number;
  last: number;
  height: number;
}

// Rows of a scrolled element that can be seen, with some around them.
export function useVisibleRows(ref: RefObject<HTMLElement | null>, count: number, rowHeight: number, around = 4): Rows {
  const [range, setRange] = useState({ first: 0, last: 30 });
  const frame = useRef(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = () => {
      frame.current = 0;
      const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - around);
      const last = Math.ceil((element.scrollTop + element.clientHeight) / rowHeight) + around;
      setRange((old) => (old.first === first && old.last === last ? old : { first, last }));
    };
    const later = () => {
      frame.current ||= requestAnimationFrame(measure);
    };
    measure();
    const observer = new ResizeObserver(later);
    observer.observe(element);
    element.addEventListener("scroll", later, { passive: true });
    return () => {
      cancelAnimationFrame(frame.current);
      frame.current = 0;
      observer.disconnect();
      element.removeEventListener("scroll", later);
    };
  }, [ref, rowHeight, around]);
  return { first: Math.min(range.first, Math.max(0, count - 1)), last: Math.min(range.last, count), height: count * rowHeight };
}

export function useWidth(ref: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return width;
}
