/**
 * `useChat` of the AI SDK in Chromium, over two nodes and a slow model: whatever happens to pages
 * and nodes, each answer ends in every page byte for byte as it is in Postgres.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import type { Page } from 'playwright-core';
import { type OutputChunk, rolldown } from 'rolldown';
import t, { type Test } from 'tap';
import { AgentCluster } from '../support/agent-cluster.ts';
import { Balancer } from '../support/balancer.ts';
import { startChromium } from '../support/chromium.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const RELOADS = 100;

const cluster = await AgentCluster.start(t);
const { models, nodes } = cluster;
const balancer = await Balancer.start(t, () => nodes.map(({ baseUrl }) => baseUrl));
const browser = await startChromium(t);
const pageUrl = await servePage(t);
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
    await until(async () => (await answersIn(page)).length === turn, { what: `answer ${turn}` });
    // The second tab follows it from its start to its end.
    await other.reload();
    while (reloads < RELOADS) {
      const shown = (await answersIn(page)).at(-1) ?? '';
      const more = shown.length + random.below(300);
      await until(async () => (await isOver(page)) || ((await answersIn(page)).at(-1) ?? '').length > more, {
        what: `more than ${more} characters, or the end`,
      });
      if (await isOver(page)) break;
      await page.reload();
      reloads += 1;
      await until(async () => (await answersIn(page)).length > 0, { what: 'the page' });
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
    await until(async () => ((await answersIn(tabs[0]!)).at(-1) ?? '').includes(`${turn}.20 `), {
      what: 'the first words',
    });
    await tabs[1]!.reload();
    const victim = turn % 2;
    await nodes[victim]!.kill('SIGKILL');
    await until(async () => (await isOver(tabs[0]!)) && (await isOver(tabs[1]!)), {
      what: 'its end in both tabs',
    });
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
  await until(async () => (await answersIn(here))[0]?.includes('1.19 '), {
    what: 'half of the first answer',
  });
  const there = await opened(t, id, nodes[1]!.baseUrl);
  await until(async () => (await answersIn(there))[0]?.includes('1.19 '), { what: 'it on the other node' });
  await here.evaluate('chat.stop()');
  models.reply({ text: tokens(2, 40) });
  await ask(here, 'Question 2');
  await until(async () => (await answersIn(here))[1]?.includes('2.39 '), { what: 'the second answer' });
  t.notMatch(await answersIn(there), [/2\./], 'nothing of it in the first');
  release.resolve();
  await until(() => isOver(there), { what: 'the end of the first' });
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
  await until(async () => (await answersIn(page))[0]?.includes('1.19 '), { what: 'half of it' });
  const request = models.requests.at(-1)!;
  await page.evaluate('chat.stop()');
  await page.close();
  release.resolve();
  t.equal(await request.over, 'complete');
  const next = await opened(t, id);
  await agrees(t, next, id, 1);

  models.reply({ text: tokens(2, 40), hold: { at: 20, until: new Promise(() => {}) } });
  await ask(next, 'Question 2');
  await until(async () => (await answersIn(next))[1]?.includes('2.19 '), { what: 'half of the second' });
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
  const { account_id: account, users } = nodes[0]!.demo;
  const query = new URLSearchParams({ url, account, token: users.ada.access_token, conversation });
  await page.goto(`${pageUrl}?${query}`);
  await page.waitForSelector('ol', { state: 'attached' });
  return page;
}

/** Sends a message as the page does, and does not wait for the answer. */
async function ask(page: Page, text: string): Promise<void> {
  await until(() => isOver(page), { what: 'the chat is ready' });
  await page.evaluate(`void chat.sendMessage(${JSON.stringify({ text })})`);
}

/** The texts of the answers as the page renders them. */
async function answersIn(page: Page): Promise<string[]> {
  return (await page.evaluate(
    `Array.from(document.querySelectorAll('li[data-role=assistant]'), (li) => li.textContent)`,
  )) as string[];
}

async function isOver(page: Page): Promise<boolean> {
  const status = await page.evaluate(`document.querySelector('ol')?.dataset.status`);
  return status === 'ready' || status === 'error';
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
    async () => (await isOver(page)) && !(await read()).some((row) => row.streaming_state === 'streaming'),
    {
      what: 'the end of what is written',
    },
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

/** Serves the page and its script; resolves with its address. */
async function servePage(t: Teardown): Promise<string> {
  const build = await rolldown({
    input: join(import.meta.dirname, 'chat-page.js'),
    platform: 'browser',
    logLevel: 'silent',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  });
  const { output } = await build.generate({ format: 'es' });
  await build.close();
  const chunks = new Map(
    output
      .filter((one): one is OutputChunk => one.type === 'chunk')
      .map(({ fileName, code }) => [`/${fileName}`, code]),
  );
  const html =
    '<!doctype html><meta charset="utf-8"><main></main><script type="module" src="/chat-page.js"></script>';
  const server = createServer(({ url = '/' }, response) => {
    const code = chunks.get(url);
    response.setHeader('content-type', code === undefined ? 'text/html' : 'text/javascript');
    response.end(code ?? html);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
