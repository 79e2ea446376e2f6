/** A sentence that the page shows for some seconds. */
export interface Notice {
  readonly id: number;
  readonly text: string;
  readonly isProblem: boolean;
}

let notices: readonly Notice[] = [];
let count = 0;
const listeners = new Set<() => void>();

/** Shows for some seconds the result of an action without a place of its own. */
export function notify(text: string): void {
  add(text, false);
}

/** Shows the failure of an action without a place of its own. Meant to be passed to `catch`. */
export function notifyFailure(error: unknown): void {
  add(error instanceof Error ? error.message : String(error), true);
}

function add(text: string, isProblem: boolean): void {
  const notice = { id: ++count, text, isProblem };
  set([...notices.slice(1 - MOST_SHOWN), notice]);
  setTimeout(() => remove(notice), isProblem ? PROBLEM_MS : NOTICE_MS);
}

/** Takes a notice away. */
export function remove(notice: Notice): void {
  set(notices.filter((one) => one !== notice));
}

function set(next: readonly Notice[]): void {
  notices = next;
  for (const listener of listeners) listener();
}

/** Follows the notices. Returns the function that ends it. */
export function follow(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the notices shown now, the oldest first. */
export function current(): readonly Notice[] {
  return notices;
}

const MOST_SHOWN = 3;
const NOTICE_MS = 5_000;
const PROBLEM_MS = 12_000;
