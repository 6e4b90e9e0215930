// Session of the page: the one-time code of the link is exchanged for a cookie, which scripts cannot read, and a key.

const KEY = "mockkube-ui-key";
export const CONTROL = "/apis/control.mockkube.dev/v1alpha1";

export class ApiError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

// Returns whether there is a session.
export async function logIn(): Promise<boolean> {
  const code = location.hash.slice(1);
  if (/^[0-9a-f]{64}$/.test(code)) {
    // At once, so that the code stays in no history and no bookmark.
    history.replaceState(null, "", location.pathname);
    const response = await fetch("login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code }),
    });
    if (response.ok) {
      localStorage.setItem(KEY, ((await response.json()) as { key: string }).key);
      return true;
    }
  }
  return localStorage.getItem(KEY) !== null;
}

export function hasKey(): boolean {
  return localStorage.getItem(KEY) !== null;
}

export async function logOut(): Promise<void> {
  await send("POST", "logout", {}).catch(() => undefined);
  forget();
}

export function forget(): void {
  localStorage.removeItem(KEY);
}

export async function open(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("Mockkube-Ui-Key", localStorage.getItem(KEY) ?? "");
  const response = await fetch(path, { ...init, headers });
  if (!response.ok) {
    const text = await response.text();
    let message = text || response.statusText;
    try {
      message = (JSON.parse(text) as { message?: string }).message ?? message;
    } catch {
      // Not every error is a Status.
    }
    throw new ApiError(response.status, message);
  }
  return response;
}

export async function get<T>(path: string): Promise<T> {
  return (await (await open(path)).json()) as T;
}

export async function send(method: string, path: string, body: unknown, type = "application/json"): Promise<unknown> {
  const response = await open(path, { method, headers: { "Content-Type": type }, body: JSON.stringify(body) });
  const warnings = response.headers.get("Warning");
  const value = (await response.json()) as unknown;
  return warnings === null ? value : { warning: warnings.replace(/^299 - "|"$/g, ""), value };
}

// Path of the API of the cluster.
export function api(path: string): string {
  return `api${path}`;
}
