import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import { Cases } from '../messages/cases.ts';
import { startTestApp } from '../support/app.ts';
import { ConsoleBrowser } from '../support/console-page.ts';
import type { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';
import { doInPage, PAGE_ACTS, type PageAct } from './console.ts';

interface MemoryOptions extends Seeded {
  /** Acts before the first measure, which load every part once, and acts after it. */
  readonly first: number;
  readonly acts: number;
}

interface Memory {
  readonly heapBytes: number;
  /** Nodes that are kept and not in the document. */
  readonly detached: number;
  readonly listeners: number;
}

interface MemoryFigures extends Found {
  /** Acts of the page, by kind. */
  readonly made: Readonly<Record<string, number>>;
  readonly before: Memory;
  readonly after: Memory;
}

/**
 * A page of the console in which a person works: the head of cases, the pane beside them, Work, the
 * lists and the rest. After all of it the page keeps no more than after the first acts.
 */
export const consoleMemory = campaign({ whole: () => ({ first: 100, acts: 500 }), run });

async function run(t: Teardown, { first, acts }: MemoryOptions, random: Random): Promise<MemoryFigures> {
  const app = await startTestApp(t, { PARLEY_DEMO_DAY: 'on' });
  const cases = new Cases(app);
  // More than acts take out of the list.
  for (let n = 0; n < (first + acts) / 8; n++) {
    const { id, customerToken: token } = await cases.open();
    await cases.sent(id, { body: `Question ${n}` }, { token });
  }
  const browser = await ConsoleBrowser.start(t, app.baseUrl);
  await browser.context.addInitScript({ path: join(import.meta.dirname, '../support/console-shown.js') });
  const page = await browser.open('ada');
  const made: Record<string, number> = {};
  const act = async (count: number) => {
    for (let n = 0; n < count; n++) {
      // Most acts are about an open conversation.
      const kind = random.next() < 0.35 ? 'open a conversation' : random.pick(Object.keys(ACTS));
      const how = ACTS[kind]!;
      const did =
        typeof how === 'string'
          ? browser.go(page, how).then(() => true)
          : doInPage(page, how, { chance: random.next(), text: `written ${n}` });
      if (await did) made[kind] = (made[kind] ?? 0) + 1;
      await quiet(page);
    }
  };
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  // At one place, with the same list and nothing open.
  const measure = async () => {
    for (let n = 0; n < 2; n++) await page.keyboard.press('Escape');
    await doInPage(page, PAGE_ACTS['show all']!, { chance: 0, text: '' });
    await browser.go(page, '');
    await quiet(page);
    return memoryOf(session, page);
  };
  await act(first);
  const before = await measure();
  await act(acts);
  let after = await measure();
  const grown = () =>
    (Object.keys(MOST) as (keyof Memory)[]).filter((name) => after[name] > before[name] + MOST[name]);
  // What a page has left is kept for a moment, in case that it comes back.
  await until(
    async () => {
      after = await measure();
      return grown().length === 0;
    },
    { what: 'the page to give back what it has left' },
  ).catch(() => {});
  const problems = grown().map((name) => `${name} grew from ${before[name]} to ${after[name]}`);
  return { made, before, after, problems: [...problems, ...browser.problems] };
}

/** Places, and acts at the present one. */
const ACTS: Readonly<Record<string, string | PageAct>> = {
  ...PAGE_ACTS,
  'go home': '',
  'go to Work': 'work',
  'go to the notifications': 'notifications',
  'go to the search': 'search?q=chair',
  'go to the settings': 'settings',
  'open a menu of the head': ['.conversation-head [aria-haspopup]', 'click'],
  'choose in a menu': ['[role^="menuitem"]', 'click'],
  'assign to me': ['[aria-label="Assign to me"]', 'click'],
  'take a case': ['.case-line button', 'click'],
  'reopen or resolve': ['.conversation-head .conversation-act', 'click'],
  'open the bell': ['.bell', 'click'],
  'open or close a dialog': ['dialog[open] [aria-label="Close"], .side-bar-find', 'click'],
};

/**
 * How much more the page may keep after the acts: messages that it has loaded, and rows of
 * conversations that came back. A part that stayed with each act would be many times as much.
 */
const MOST: Memory = { heapBytes: 3_000_000, detached: 300, listeners: 400 };

/** The nodes of the document. */
const COUNT = `(() => {
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
  let count = 1;
  while (walker.nextNode() !== null) count += 1;
  return count;
})()`;

declare const shown: { isQuiet(): boolean };

async function quiet(page: Page): Promise<void> {
  await until(() => page.evaluate(() => shown.isQuiet()), { what: 'a quiet page' });
}

async function memoryOf(session: CDPSession, page: Page): Promise<Memory> {
  // The second one collects what the finalizers of the first have let go.
  for (let n = 0; n < 2; n++) await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (name: string) => metrics.find((one) => one.name === name)!.value;
  return {
    heapBytes: of('JSHeapUsedSize'),
    detached: of('Nodes') - (await page.evaluate<number>(COUNT)),
    listeners: of('JSEventListeners'),
  };
}
