import { failureText } from '../texts/failure-text.ts';

/** A sentence that the page shows for some seconds. */
export interface Notice {
  readonly id: number;
  readonly text: string;
  readonly isProblem: boolean;
  /** A button in it, such as Undo. */
  readonly action: NoticeAction | null;
}

export interface NoticeAction {
  readonly label: string;
  readonly act: () => void;
}

let notices: readonly Notice[] = [];
let count = 0;
const listeners = new Set<() => void>();

/** Shows for some seconds the result of an action without a place of its own. */
export function notify(text: string, action: NoticeAction | null = null): void {
  add(text, false, action);
}

/** Shows the failure of an action without a place of its own. Meant to be passed to `catch`. */
export function notifyFailure(error: unknown): void {
  add(failureText(error), true, null);
}

function add(text: string, isProblem: boolean, action: NoticeAction | null): void {
  const notice = { id: ++count, text, isProblem, action };
  set([...notices.slice(1 - MOST_SHOWN), notice]);
  setTimeout(() => remove(notice), isProblem || action !== null ? LONG_MS : NOTICE_MS);
}

/** Does the action of a notice, which is then done with. */
export function takeUp(notice: Notice): void {
  remove(notice);
  notice.action?.act();
}

/** Does the action of the newest notice that has one. */
export function takeUpNewest(): void {
  const newest = notices.findLast(({ action }) => action !== null);
  if (newest !== undefined) takeUp(newest);
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
/** For a problem that is to be read, and for an action that is to be reached. */
const LONG_MS = 12_000;
