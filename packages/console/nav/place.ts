import { useSyncExternalStore } from 'preact/compat';
import { keepDetails } from './staying-pane.ts';

/** The content of the main part. */
export type Main =
  /** `opens`: it goes on to the newest conversation, if there is one. */
  | { readonly at: 'home'; readonly opens?: 'newest' }
  /** `message` is the id of a message to show in its middle. */
  | { readonly at: 'conversation'; readonly id: string; readonly message?: string }
  | { readonly at: 'work' }
  | { readonly at: 'notifications' }
  | { readonly at: 'settings' }
  | { readonly at: 'search'; readonly search: SearchPlace }
  | { readonly at: 'administration'; readonly section: string; readonly id?: string }
  | { readonly at: 'installation' };

/** The search of the search page, as texts; absent keys do not filter. */
export type SearchPlace = Readonly<Partial<Record<SearchKey, string>>>;
export type SearchKey = (typeof SEARCH_KEYS)[number];
const SEARCH_KEYS = ['q', 'in', 'by', 'after', 'before', 'has'] as const;

/** The pane beside a conversation. */
export type Pane =
  | { readonly shows: 'details' }
  | { readonly shows: 'thread'; readonly id: string }
  | { readonly shows: 'run'; readonly id: string };

/** The present place in the console: the path of the page. */
export interface Place {
  readonly main: Main;
  readonly pane?: Pane;
}

const BASE = '/console/';

/** Returns the path of a place. */
export function pathOf({ main, pane }: Place): string {
  const query = new URLSearchParams();
  if (main.at === 'conversation' && main.message !== undefined) query.set('message', main.message);
  if (main.at === 'search') for (const [key, value] of Object.entries(main.search)) query.set(key, value);
  if (pane !== undefined) query.set('pane', 'id' in pane ? `${pane.shows}:${pane.id}` : pane.shows);
  const text = query.toString();
  return `${BASE}${segmentsOf(main).map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

function segmentsOf(main: Main): string[] {
  switch (main.at) {
    case 'home':
      return main.opens === undefined ? [] : [main.opens];
    case 'conversation':
      return ['c', main.id];
    case 'administration':
      return ['administration', main.section, ...(main.id === undefined ? [] : [main.id])];
    default:
      return [main.at];
  }
}

/** Returns the place of a path; an unknown path leads home. */
export function placeOf(path: string, search = ''): Place {
  const query = new URLSearchParams(search);
  const pushed = query.get('conversation');
  // The service worker opens the console with the subject of a push (docs/sdk.md#web-push).
  const segments = pushed === null ? path.slice(BASE.length).split('/').map(decoded) : ['c', pushed];
  const main = mainOf(segments, query);
  const pane = paneOf(query.get('pane'));
  return pane === undefined ? { main } : { main, pane };
}

function mainOf([first = '', second = '', third = '']: readonly string[], query: URLSearchParams): Main {
  const message = query.get('message');
  switch (first) {
    case 'c':
      if (second === '') return { at: 'home' };
      return { at: 'conversation', id: second, ...(message !== null && { message }) };
    case 'administration':
      return { at: 'administration', section: second, ...(third !== '' && { id: third }) };
    case 'search':
      return { at: 'search', search: searchOf(query) };
    case 'newest':
      return { at: 'home', opens: first };
    case 'work':
    case 'notifications':
    case 'settings':
    case 'installation':
      return { at: first };
    default:
      return { at: 'home' };
  }
}

function searchOf(query: URLSearchParams): SearchPlace {
  const given = SEARCH_KEYS.map((key) => [key, query.get(key)] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== null && value !== ''));
}

function paneOf(text: string | null): Pane | undefined {
  const [shows = '', id = ''] = text?.split(':') ?? [];
  if (shows === 'details') return { shows };
  return (shows === 'thread' || shows === 'run') && id !== '' ? { shows, id } : undefined;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}

const DETAILS: Pane = { shows: 'details' };

/**
 * The query parameter with the filters of the list of conversations, which is beside each place.
 */
const LIST = 'list';

/** Returns a path with the present filters of the list. */
function withList(path: string): string {
  const list = new URLSearchParams(location.search).get(LIST);
  if (list === null) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams({ [LIST]: list })}`;
}

/** Follows the filters of the list of conversations in the address; null where it has none. */
export function useList(): string | null {
  return useSyncExternalStore(follow, () => new URLSearchParams(location.search).get(LIST));
}

/** Puts the filters of the list of conversations into the address. */
export function setList(text: string): void {
  const url = new URL(location.href);
  url.searchParams.set(LIST, text);
  history.replaceState(null, '', url);
  announce();
}

let shown: { readonly href: string; readonly place: Place } | undefined;

/** Returns the place that the page shows now. */
export function currentPlace(): Place {
  const { href, pathname, search } = location;
  if (shown?.href !== href) shown = { href, place: placeOf(pathname, search) };
  return shown.place;
}

/** Follows the place that the page shows. */
export function usePlace(): Place {
  return useSyncExternalStore(follow, currentPlace);
}

const listeners = new Set<() => void>();

function follow(listener: () => void): () => void {
  if (listeners.size === 0) addEventListener('popstate', popped);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) removeEventListener('popstate', popped);
  };
}

/** The browser has moved already: a held page takes its address back, and asks. */
function popped(): void {
  const here = shown?.href;
  if (holder === undefined || here === undefined || here === location.href) {
    announce();
    return;
  }
  history.pushState(null, '', here);
  isAsked(() => history.back());
}

function announce(): void {
  for (const listener of listeners) listener();
}

type Ask = (leave: () => void) => void;

let holder: Ask | undefined;

/** Asks before each way to another main part until the returned function is called. */
export function holdPlace(ask: Ask): () => void {
  holder = ask;
  return () => {
    if (holder === ask) holder = undefined;
  };
}

/** Returns whether a holder was asked; it leads on with `leave`. */
function isAsked(leave: () => void): boolean {
  const ask = holder;
  if (ask === undefined) return false;
  ask(() => {
    if (holder === ask) holder = undefined;
    leave();
  });
  return true;
}

/** Shows another place. `replace`: the way back skips the present one. */
export function go(place: Place, { replace = false } = {}): void {
  const path = withList(pathOf(place));
  if (path !== `${location.pathname}${location.search}` && isAsked(() => go(place, { replace }))) return;
  // Leading to the same place again is news to the parts that show it.
  if (path === `${location.pathname}${location.search}`) shown = undefined;
  else history[replace ? 'replaceState' : 'pushState'](null, '', path);
  announce();
}

/**
 * Shows a pane beside the main part, or none. Details stay open for the conversations after this
 * one, until they are closed (`staying-pane.ts`).
 */
export function showPane(pane: Pane | null): void {
  const { main, pane: before } = currentPlace();
  const isOfDetails = (pane ?? before ?? DETAILS).shows === 'details';
  if (isOfDetails) keepDetails(pane !== null);
  go(pane === null ? { main } : { main, pane });
}

/** Shows a message in the timeline of its conversation, beside the pane that is open there. */
export function showMessage(id: string, message: string): void {
  const { main, pane } = currentPlace();
  const keepsPane = pane !== undefined && main.at === 'conversation' && main.id === id && isWide();
  go({ main: { at: 'conversation', id, message }, ...(keepsPane && { pane }) });
}

/** Returns whether a pane stands beside the conversation, and not over it. */
function isWide(): boolean {
  return matchMedia('(min-width: 48.01rem)').matches;
}
