import type { UnreadAnswers } from '@parley/protocol/resources/widget.ts';
import { directionOf, languageOf } from '@parley/protocol/resources/widget-languages.ts';
import { Host } from '../host/host.ts';
import { frameStorage } from '../identity/frame-storage.ts';
import { Visitor } from '../identity/visitor-session.ts';
import { call, Refused } from '../identity/widget-calls.ts';
import { loadTexts } from '../texts/texts.ts';
import { drawBubble } from './draw-bubble.ts';

/**
 * The page of the small frame beside the launcher: it counts what waits for the visitor of this
 * browser by one request, and shows the first words of the newest answer. The page around gets the
 * number alone (../DECISIONS.md#the-bubble-is-a-frame).
 */
const query = new URLSearchParams(location.search);
const [widgetId, accountId] = [query.get('widget') ?? '', query.get('account') ?? ''];
const storage = frameStorage('localStorage');
const visitor = new Visitor(widgetId, storage);
const dismissedKey = `parley-dismissed-${widgetId}`;
let isKnown = false;
let isPanelShown = false;
/** Whether the panel's frame is live, which says when there is news. */
let isTold = false;
let lookedAtMs = 0;
let pauseMs = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

// `frame-ancestors` admits the sites of the widget alone, so the page around is one of them.
const host = await Host.greeted(async () => true);
const { language, texts } = await loadTexts(languageOf([query.get('lang') ?? '']));
Object.assign(document.documentElement, { lang: language, dir: directionOf(language) });
const bubble = drawBubble(texts, {
  onOpen: () => host.open(),
  onDismiss(id) {
    storage.setItem(dismissedKey, id);
    show(null);
  },
});
host.follow({
  identity(known) {
    isKnown = known;
    show(null);
    void look();
  },
  shown(isShown) {
    isPanelShown = isShown;
    if (isShown) show(null);
  },
  focus() {},
  look() {
    isTold = true;
    void look();
  },
});
addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') wait(Math.max(0, lookedAtMs + pauseMs - Date.now()));
});

/** Counts now, and again later while the page is visible. */
async function look(): Promise<void> {
  lookedAtMs = Date.now();
  try {
    const answers = await read();
    host.showUnread(answers?.unread ?? 0);
    show(answers?.newest ?? null);
    // No session: nothing can come before the panel is opened.
    pauseMs = answers === null ? Number.POSITIVE_INFINITY : LOOK_EVERY_MS;
  } catch {
    pauseMs = Math.min(Math.max(2 * pauseMs, LOOK_EVERY_MS), LONGEST_MS);
  }
  wait(pauseMs);
}

function wait(ms: number): void {
  clearTimeout(timer);
  if (isTold || ms > LONGEST_MS || document.visibilityState !== 'visible') return;
  timer = setTimeout(() => void look(), ms);
}

/** Returns null where neither the page nor this browser knows the visitor. */
async function read(): Promise<UnreadAnswers | null> {
  const token = (isKnown ? await host.token() : null) ?? (await visitor.accessToken());
  if (token === null) return null;
  try {
    return await ask(token);
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 401) throw error;
    // The token is no longer valid, or one of the application that the widget does not know.
    const next = await visitor.accessToken({ isRefused: !isKnown });
    return next === null ? null : ask(next);
  }
}

function ask(token: string): Promise<UnreadAnswers> {
  const path = `/v1/widgets/${encodeURIComponent(widgetId)}/visitors/unread-answers`;
  return call('GET', path, { headers: { Authorization: `Bearer ${token}`, 'Service-Account': accountId } });
}

function show(newest: UnreadAnswers['newest']): void {
  const isNews = newest !== null && !isPanelShown && storage.getItem(dismissedKey) !== newest.message_id;
  host.showBubble(isNews);
  bubble.show(isNews ? newest : null);
}

const LOOK_EVERY_MS = 60_000;
const LONGEST_MS = 15 * 60_000;
