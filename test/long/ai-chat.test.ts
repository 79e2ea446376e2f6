/**
 * `useChat` of the AI SDK in Chromium, over two nodes and a slow model: whatever happens to pages
 * and nodes, each answer ends in every page byte for byte as in Postgres.
 *
 * Without influence: OPERATION, ASIDE, PAGES, packages/client/react, src/features/mail.
 */

import { join } from 'node:path';
import pg from 'pg';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { AgentCluster } from '../support/agent-cluster.ts';
import { Balancer } from '../support/balancer.ts';
import { startChromium } from '../support/chromium.ts';
import { Random } from '../support/random.ts';
import { servePage } from '../support/served-page.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const RELOADS = 40;
/** In the page: the texts of the answers, and whether the chat waits for a question. */
const ANSWERS = `Array.from(document.querySelectorAll('li[data-role=assistant]'), (li) => li.textContent)`;
const IS_OVER = `['ready', 'error'].includes(document.querySelector('ol')?.dataset.status)`;

const cluster = await AgentCluster.start(t);
const { models, nodes } = cluster;
const balancer = await Balancer.start(t, () => nodes.map(({ baseUrl }) => baseUrl));
const browser = await startChromium(t);
const pageUrl = await servePage(t, join(import.meta.dirname, 'chat-page.js'));
const database = new pg.Pool({ connectionString: cluster.databaseUrl });
t.teardown(() => database.end());

t.test(`${RELOADS} reloads at random tokens, with a second tab open`, async (t) => {
  const random = new Random(28);
  const id = await cluster.createConversation('Reloads');
  const page = await opened(t, id);
  const other = await opened(t, id);
  let reloads = 0;
  for (let turn = 1; reloads < RELOADS; turn++) {
    models.reply({ text: tokens(turn, 600), tokensPerSecond: 60 });
    await ask(page, `Question ${turn}`);
    await shows(page, `${ANSWERS}.length === ${turn}`);
    // The second tab follows it from its start to its end.
    await other.reload();
    while (reloads < RELOADS) {
      const shown = (await answersIn(page)).at(-1) ?? '';
      const more = shown.length + random.below(300);
      await shows(page, `${IS_OVER} || (${ANSWERS}.at(-1) ?? '').length > ${more}`);
      if (await page.evaluate(IS_OVER)) break;
      await page.reload();
      reloads += 1;
      await shows(page, `${ANSWERS}.length > 0`);
    }
    for (const one of [page, other]) await agrees(t, one, id, turn);
  }
  t.comment(`${reloads} reloads`);
});

t.test('a node killed in the middle: both tabs end as Postgres does, whichever wrote or read', async (t) => {
  const id = await cluster.createConversation('Kills');
  const tabs = [await opened(t, id), await opened(t, id)];
  const outcomes = new Set<unknown>();
  for (let turn = 1; turn <= 4; turn++) {
    models.reply({ text: tokens(turn, 120), tokensPerSecond: 40 });
    await ask(tabs[0]!, `Question ${turn}`);
    await shows(tabs[0]!, `(${ANSWERS}.at(-1) ?? '').includes('${turn}.20 ')`);
    await tabs[1]!.reload();
    const victim = turn % 2;
    await nodes[victim]!.kill('SIGKILL');
    for (const tab of tabs) await shows(tab, IS_OVER);
    for (const tab of tabs) await agrees(t, tab, id, turn);
    outcomes.add((await tabs[0]!.evaluate('chat.status')) as string);
    await cluster.restart(victim);
  }
  t.comment(`chats ended as ${[...outcomes].join(', ')}`);
});

t.test('a second turn while a reader of the first is on another node (LibreChat#14411)', async (t) => {
  const id = await cluster.createConversation('Turns');
  const release = Promise.withResolvers<void>();
  models.reply({ text: tokens(1, 40), hold: { at: 20, until: release.promise } });
  const here = await opened(t, id, nodes[0]!.baseUrl);
  await ask(here, 'Question 1');
  await shows(here, `${ANSWERS}[0]?.includes('1.19 ')`);
  const there = await opened(t, id, nodes[1]!.baseUrl);
  await shows(there, `${ANSWERS}[0]?.includes('1.19 ')`);
  await here.evaluate('chat.stop()');
  models.reply({ text: tokens(2, 40) });
  await ask(here, 'Question 2');
  await shows(here, `${ANSWERS}[1]?.includes('2.39 ')`);
  t.notMatch(await answersIn(there), [/2\./], 'nothing of it in the first');
  release.resolve();
  await shows(there, IS_OVER);
  t.strictSame(await answersIn(there), [tokens(1, 40).join('')]);
  for (const tab of [here, there]) {
    await tab.reload();
    await agrees(t, tab, id, 2);
  }
});

t.test('stop ends the request to the model, an abort and a closed tab do not', async (t) => {
  const id = await cluster.createConversation('Stop');
  const page = await opened(t, id);
  const release = Promise.withResolvers<void>();
  models.reply({ text: tokens(1, 40), hold: { at: 20, until: release.promise } });
  await ask(page, 'Question 1');
  await shows(page, `${ANSWERS}[0]?.includes('1.19 ')`);
  const request = models.requests.at(-1)!;
  await page.evaluate('chat.stop()');
  await page.close();
  release.resolve();
  t.equal(await request.over, 'complete');
  const next = await opened(t, id);
  await agrees(t, next, id, 1);

  models.reply({ text: tokens(2, 40), hold: { at: 20, until: new Promise(() => {}) } });
  await ask(next, 'Question 2');
  await shows(next, `${ANSWERS}[1]?.includes('2.19 ')`);
  const second = models.requests.at(-1)!;
  await next.evaluate('stop()');
  t.equal(await second.over, 'aborted');
  await agrees(t, next, id, 2);
  const { rows } = await database.query(
    'SELECT status FROM agent_runs WHERE conversation_id = $1 ORDER BY created_at',
    [id],
  );
  t.strictSame(rows, [{ status: 'completed' }, { status: 'cancelled' }]);
});

/** Opens the page of a conversation in a tab of its own. */
async function opened(t: Teardown, conversation: string, url = balancer.url): Promise<Page> {
  const page = await browser.newPage();
  t.teardown(() => page.close());
  // Small, since the processor draws every frame of what grows.
  await page.setViewportSize({ width: 320, height: 240 });
  const { account_id: account, users } = nodes[0]!.demo;
  const query = new URLSearchParams({ url, account, token: users.ada.access_token, conversation });
  await page.goto(`${pageUrl}?${query}`);
  await page.waitForSelector('ol', { state: 'attached' });
  return page;
}

/** Sends a message as the page does, and does not wait for the answer. */
async function ask(page: Page, text: string): Promise<void> {
  await shows(page, IS_OVER);
  await page.evaluate(`void chat.sendMessage(${JSON.stringify({ text })})`);
}

/** The texts of the answers as the page renders them. */
function answersIn(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(ANSWERS);
}

/**
 * Waits until an expression holds in the page. The page itself looks: a question from here at each
 * turn costs three processes more than what is asked.
 */
async function shows(page: Page, expression: string): Promise<void> {
  await page.waitForFunction(expression, undefined, { polling: 50 });
}

/** Checks that the page has these turns alone, once and in order, as Postgres has them. */
async function agrees(t: Test, page: Page, id: string, turns: number): Promise<void> {
  const read = async () => {
    const { rows } = await database.query<{ body: string; streaming_state: string | null }>(
      `SELECT body, streaming_state FROM messages WHERE conversation_id = $1 AND kind IN ('chat', 'agent') ORDER BY sequence`,
      [id],
    );
    return rows;
  };
  const shown = async () =>
    (await page.evaluate(`Array.from(document.querySelectorAll('li'), (li) => li.textContent)`)) as string[];
  await until(
    async () =>
      (await page.evaluate(IS_OVER)) && !(await read()).some((row) => row.streaming_state === 'streaming'),
    { what: 'the end of what is written' },
  );
  const stored = (await read()).map(({ body }) => body);
  await until(async () => (await shown()).join('\n') === stored.join('\n'), { what: 'the page' }).catch(
    () => {},
  );
  t.strictSame(await shown(), stored);
  t.equal(stored.length, turns * 2);
}

/** The tokens of an answer, which say which they are; some are outside of ASCII. */
function tokens(turn: number, count: number): string[] {
  return Array.from({ length: count }, (_, n) =>
    `${turn}.${n} ${n % 7 === 0 ? 'größer 🚢 ' : ''}`.concat(n === count - 1 ? 'end' : ''),
  );
}
