import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { Page } from 'playwright-core';
import { ConsoleActs } from '../support/console-acts.ts';
import { ConsoleBrowser } from '../support/console-page.ts';
import { freePort } from '../support/free-port.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Random } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface ConsoleOptions extends Seeded {
  /** Seconds and acts after which it ends, whichever comes first. */
  readonly seconds: number;
  readonly acts: number;
  /** Acts between two comparisons, and between two faults. */
  readonly compareEvery: number;
  readonly faultEvery: number;
}

interface ConsoleFigures extends Found {
  readonly person: string;
  /** Accepted acts of others, and refused ones, by kind. */
  readonly made: Readonly<Record<string, number>>;
  readonly refused: Readonly<Record<string, number>>;
  /** Acts of the page, by kind. */
  readonly pageActs: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  /** Comparisons with a fresh page, compared lines, and compared lines of messages. */
  readonly comparisons: number;
  readonly lines: number;
  readonly messages: number;
  /** Comparisons whose page first differed from the fresh page. */
  readonly later: readonly string[];
  /** Longest time in ms from a quiet server to two equal pages. */
  readonly slowestMs: number;
}

/**
 * A node that is killed, a page of the console whose network breaks, and everything that people do
 * in conversations. Whenever nothing is under way any more, the page shows the same as a page that
 * the same person opens at that moment.
 */
export const console = campaign({
  words: ['', '3m', '10m'],
  whole: (_, word) => ({
    seconds: word === '' ? 3_600 : Number.parseInt(word, 10) * 60,
    acts: Number.POSITIVE_INFINITY,
    compareEvery: 150,
    faultEvery: 37,
  }),
  run,
});

async function run(t: Teardown, options: ConsoleOptions, random: Random): Promise<ConsoleFigures> {
  const watched = await WatchedPage.start(t, options, random);
  const endAt = performance.now() + options.seconds * 1_000;
  for (let n = 1; n <= options.acts && performance.now() < endAt; n++) {
    await watched.act();
    if (n % options.faultEvery === 0) await watched.breakSomething();
    if (n % options.compareEvery === 0) await watched.compare();
    await pause(random.below(PACE_MS));
  }
  await watched.compare();
  return watched.figures();
}

/** The content of a page, by its parts. */
type Parts = Readonly<Record<string, readonly string[]>>;

/** The page script of test/support/console-shown.js. */
declare const shown: {
  parts(): Record<string, string[]>;
  isQuiet(): boolean;
  click(selector: string, chance: number): string | null;
  press(selector: string, key: string, chance: number): boolean;
  write(selector: string, text: string): Promise<boolean>;
};

class WatchedPage {
  readonly #t: Teardown;
  readonly #random: Random;
  readonly #databaseUrl: string;
  readonly #redisUrl: string;
  readonly #postgres: pg.Pool;
  readonly #acts: ConsoleActs;
  readonly #browser: ConsoleBrowser;
  #node: TestNode;
  #page!: Page;
  readonly #history: string[] = [];
  readonly #problems: string[] = [];
  readonly #later: string[] = [];
  readonly #pageActs: Record<string, number> = {};
  readonly #faults: Record<string, number> = {};
  #compared = { comparisons: 0, lines: 0, messages: 0 };
  #slowestMs = 0;
  #written = 0;

  static async start(t: Teardown, { seed }: Seeded, random: Random): Promise<WatchedPage> {
    const [{ url: databaseUrl }, redis] = [await createTestDatabase(t), await startRedis(t)];
    // Connections left by a node with a port from the system would keep another node from it.
    const env = { PORT: String(await freePort()) };
    const node = await startNode(t, { databaseUrl, redisUrl: redis.url, env });
    const browser = await ConsoleBrowser.start(t, node.baseUrl);
    await browser.context.addInitScript({ path: join(import.meta.dirname, '../support/console-shown.js') });
    const watched = new WatchedPage({ t, node, databaseUrl, redisUrl: redis.url, browser, random, seed });
    await watched.#acts.begin();
    watched.#page = await browser.open(watched.#acts.person, `c/${node.demo.conversations.group}`);
    return watched;
  }

  private constructor(given: {
    readonly t: Teardown;
    readonly node: TestNode;
    readonly databaseUrl: string;
    readonly redisUrl: string;
    readonly browser: ConsoleBrowser;
    readonly random: Random;
    readonly seed: number;
  }) {
    this.#t = given.t;
    this.#node = given.node;
    this.#databaseUrl = given.databaseUrl;
    this.#redisUrl = given.redisUrl;
    this.#browser = given.browser;
    this.#random = given.random;
    this.#postgres = new pg.Pool({ connectionString: given.databaseUrl, max: 2 });
    given.t.teardown(() => this.#postgres.end());
    // An admin sees conversations without being a member; a member may lose sight of them.
    const person = given.seed % 3 === 0 ? 'ada' : 'grace';
    this.#acts = new ConsoleActs({ node: () => this.#node, person, random: given.random });
  }

  /** Does an act of another person, or of the page. */
  async act(): Promise<void> {
    const id = /\/c\/(\w+)/.exec(this.#page.url())?.[1];
    this.#acts.focus = id ?? null;
    if (this.#random.next() < 0.7) this.#note(await this.#acts.act());
    else await this.#actInPage();
  }

  async #actInPage(): Promise<void> {
    const parts = await partsOf(this.#page);
    // A page with nothing to read shows little.
    const isEnded = parts.ended!.length > 0 && this.#random.next() < 0.5;
    const kind = isEnded ? 'open a conversation' : this.#random.pick(Object.keys(PAGE_ACTS));
    const did = await this.#do(PAGE_ACTS[kind]!);
    if (did) this.#pageActs[kind] = (this.#pageActs[kind] ?? 0) + 1;
    this.#note(`page: ${kind} ${typeof did === 'string' ? did : did ? '' : '(nothing there)'}`);
  }

  #do(act: PageAct): Promise<string | boolean | null> {
    this.#written += 1;
    return doInPage(this.#page, act, { chance: this.#random.next(), text: `written ${this.#written}` });
  }

  /** Causes the next fault, with some acts meanwhile. */
  async breakSomething(): Promise<void> {
    const turn = Object.values(this.#faults).reduce((sum, count) => sum + count, 0);
    const kind = (['kill', 'break', 'offline'] as const)[turn % 3]!;
    this.#faults[kind] = (this.#faults[kind] ?? 0) + 1;
    this.#note(`fault: ${kind}`);
    const acts = 2 + this.#random.below(10);
    if (kind === 'kill') await this.#kill();
    else if (kind === 'offline') {
      await this.#browser.context.setOffline(true);
      for (let n = 0; n < acts; n++) await this.act();
      await this.#browser.context.setOffline(false);
    } else {
      await this.#do(['[aria-label="Break the network for 30 seconds"]', 'click']);
      for (let n = 0; n < acts; n++) await this.act();
      await this.#do(['.banner-mend', 'click']);
    }
    this.#note(`fault: ${kind} is over`);
  }

  /** Kills the node under acts of others and of the page, and starts it again on its port. */
  async #kill(): Promise<void> {
    const underWay = this.#acts.act();
    const { port } = new URL(this.#node.baseUrl);
    await pause(this.#random.below(10));
    await this.#node.kill('SIGKILL');
    for (let n = this.#random.below(4); n > 0; n--) await this.#actInPage();
    this.#node = await startNode(this.#t, {
      databaseUrl: this.#databaseUrl,
      redisUrl: this.#redisUrl,
      dataDir: this.#node.dataDir,
      env: { PORT: port },
    });
    this.#note(await underWay);
  }

  /** Waits until nothing is under way, opens a fresh page, and notes the differences. */
  async compare(): Promise<void> {
    await this.#quiet(this.#page);
    const fromMs = performance.now();
    const before = await partsOf(this.#page);
    const path = new URL(this.#page.url());
    path.searchParams.delete('as');
    const fresh = await this.#openFresh(path.href.slice(`${path.origin}/console/`.length));
    await this.#quiet(fresh);
    let differences: string[] = [];
    await until(
      async () => {
        differences = differencesOf(await partsOf(this.#page), await partsOf(fresh));
        return differences.length === 0;
      },
      { what: 'both pages to show the same' },
    ).catch(() => this.#problem('the page differs from a fresh one', differences));
    this.#slowestMs = Math.max(this.#slowestMs, Math.round(performance.now() - fromMs));
    const after = await partsOf(fresh);
    const later = differencesOf(before, after);
    if (later.length > 0) this.#later.push(`after ${this.#history.length} acts: ${later.join('; ')}`);
    this.#compared.comparisons += 1;
    this.#compared.lines += Object.values(after).reduce((sum, lines) => sum + lines.length, 0);
    this.#compared.messages += after.messages?.length ?? 0;
    const unexpected = this.#browser.problems.splice(0).filter((text) => !OF_THE_NETWORK.test(text));
    if (unexpected.length > 0) this.#problem('the script complains', unexpected);
    await fresh.close();
    await this.#page.bringToFront();
    this.#note('compared');
  }

  async #openFresh(path: string): Promise<Page> {
    const kept = await this.#page.evaluate(() => ({ ...sessionStorage }));
    return this.#browser.open(this.#acts.person, path, kept);
  }

  /** Waits until nothing waits in the database or in a page, nor becomes due during the look. */
  async #quiet(page: Page): Promise<void> {
    await until(async () => (await this.#postgres.query(UNDER_WAY)).rows.length === 0, {
      what: 'a quiet database',
    });
    await until(() => page.evaluate(() => shown.isQuiet()), { what: 'a quiet page' }).catch(async () =>
      this.#problem('the page is never quiet', [JSON.stringify((await partsOf(page)).banner)]),
    );
  }

  #note(text: string): void {
    this.#history.push(text);
  }

  #problem(what: string, details: readonly string[]): void {
    const tail = this.#history.slice(-TAIL).join('\n  ');
    this.#problems.push(`${what}, after ${this.#history.length} acts: ${details.join('; ')}\n  ${tail}`);
  }

  figures(): ConsoleFigures {
    const { person, made, refused } = this.#acts;
    return {
      person,
      made,
      refused,
      pageActs: this.#pageActs,
      faults: this.#faults,
      ...this.#compared,
      later: this.#later,
      slowestMs: this.#slowestMs,
      problems: this.#problems,
    };
  }
}

export type PageAct = readonly [selector: string, how: 'click' | 'write' | `press ${string}`];

/** Does an act to the match that `chance` picks. Returns its name, or whether there is one. */
export function doInPage(
  page: Page,
  [selector, how]: PageAct,
  { chance, text }: { readonly chance: number; readonly text: string },
): Promise<string | boolean | null> {
  if (how === 'click') return page.evaluate(([s, c]) => shown.click(s, c), [selector, chance] as const);
  if (how === 'write') return page.evaluate(([s, w]) => shown.write(s, w), [selector, text] as const);
  const key = how.slice('press '.length);
  return page.evaluate(([s, k, c]) => shown.press(s, k, c), [selector, key, chance] as const);
}

export const PAGE_ACTS: Readonly<Record<string, PageAct>> = {
  send: ['.conversation .composer-form textarea', 'write'],
  'send again': ['.conversation .composer-form textarea', 'write'],
  'reply in the thread': ['.side-pane .composer-form textarea', 'write'],
  react: ['.message-reaction', 'click'],
  pin: ['.timeline-rows [data-message]', 'press p'],
  'open a conversation': ['.inbox-row-link', 'click'],
  'open a thread': ['.message-thread', 'click'],
  'open the details': ['[aria-label="Details"]', 'click'],
  'close the pane': ['[aria-label="Close the pane"]', 'click'],
  'change the view': ['.inbox-views > button[aria-pressed]', 'click'],
  'show all': ['.inbox-views > button[aria-pressed]:first-child', 'click'],
  'read in the list': ['.inbox-row-link', 'press u'],
  'archive in the list': ['.inbox-row-link', 'press e'],
  'approve a draft': ['.draft-card-tools .button-primary', 'click'],
  'cancel a schedule': ['[aria-label="Cancel the scheduled message"]', 'click'],
};

/** Rows that still need work. */
const UNDER_WAY = `
  SELECT 1 FROM outbox UNION ALL SELECT 1 FROM inbox_due
  UNION ALL SELECT 1 FROM messages WHERE status = 'scheduled' AND scheduled_at < now() + interval '5 minutes'
  LIMIT 1`;

/** The browser's own messages about faults and late acts. */
const OF_THE_NETWORK = /^(Failed to load resource|WebSocket connection to)/;
const TAIL = 40;
const PACE_MS = 400;

function partsOf(page: Page): Promise<Parts> {
  return page.evaluate(() => shown.parts());
}

/**
 * Returns the parts that differ. It compares the messages that both pages have loaded, which depend
 * on when a page was opened. Only a fresh page knows why a conversation cannot be read any more.
 */
function differencesOf(page: Parts, fresh: Parts): string[] {
  return Object.entries(fresh).flatMap(([name, lines]) => {
    if (name === 'refused' && fresh.ended!.length > 0) return [];
    const own = page[name] ?? [];
    const isLoaded = name === 'messages' || name === 'replies';
    const both = own.length === 0 ? lines.length : Math.min(lines.length, own.length);
    const most = isLoaded ? both : Math.max(lines.length, own.length);
    for (let n = 0; n < most; n++) {
      if (own[n] !== lines[n])
        return `${name} ${n}: ${JSON.stringify(own[n])}, fresh ${JSON.stringify(lines[n])}`;
    }
    return [];
  });
}
