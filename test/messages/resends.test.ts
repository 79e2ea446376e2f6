/** Sends are written without a look-up first; a resend then costs a number, within bounds. */

import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import type { Frame } from '../../src/core/frames/frame.ts';
import { keyOf, Resends } from '../../src/core/messages/timeline/resends.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { createGround, type Ground, log, numbers, openWritePath, outgoing } from '../support/timeline.ts';
import { until } from '../support/until.ts';

/** Resends of one author that may cost a number within a minute. */
const MAX_VOIDED = 20;

t.test('a send is looked for first if its key was seen, or if its author has resent much', async (t) => {
  const resends = new Resends();
  const key = (id: string) =>
    keyOf({ id: 'msg_1', conversation_id: 'cnv_1', author_id: 'act_1', client_message_id: id });
  t.notOk(resends.isLikely(key('a'), 'act_1'));
  resends.remember(key('a'));
  t.ok(resends.isLikely(key('a'), 'act_1'));
  t.notOk(resends.isLikely(key('b'), 'act_1'));

  for (let count = 1; count < MAX_VOIDED; count++) resends.countVoided('act_1');
  t.notOk(resends.isLikely(key('b'), 'act_1'));
  resends.countVoided('act_1');
  t.ok(resends.isLikely(key('b'), 'act_1'));
  t.notOk(resends.isLikely(key('b'), 'act_2'), 'other authors are not concerned');
});

t.test('a node remembers the last ten thousand keys at least, and not for ever', async (t) => {
  const resends = new Resends();
  for (let count = 0; count < 10_000; count++) resends.remember(`key ${count}`);
  t.ok(resends.isLikely('key 0', null));
  for (let count = 0; count < 20_000; count++) resends.remember(`other ${count}`);
  t.notOk(resends.isLikely('key 0', null));
});

t.test('a resend to another node answers the original, and its number is a void', async (t) => {
  const [ground, nodes] = await twoNodes(t);
  const message = outgoing(ground, { client_message_id: 'once' });
  const { row } = await nodes[0].writePath.append(message);
  const again = await nodes[1].writePath.append({
    ...message,
    message: { ...message.message, id: newId('message'), body: 'changed' },
  });
  t.ok(again.resent);
  t.same(again.row, row);
  await until(async () => (await numbers(ground)).length === 2, { what: 'the void' });
  t.same(
    (await numbers(ground)).map(({ status }) => status),
    ['sent', 'void'],
  );
  t.match(await nodes[1].metrics.resends.get(), { values: [{ labels: { found: 'after' }, value: 1 }] });
});

t.test('10,000 resends over two nodes make no message and few voids', async (t) => {
  const [ground, nodes] = await twoNodes(t);
  const keys = Array.from({ length: 500 }, (_, index) => `key ${index}`);
  const originals = await Promise.all(
    keys.map((client_message_id) => nodes[0].writePath.append(outgoing(ground, { client_message_id }))),
  );
  const ids = new Map(originals.map(({ row }) => [row.client_message_id, row.id]));

  // As clients do after a restart of their node: some at a time, each key over and over.
  const AT_ONCE = 50;
  let wrong = 0;
  for (let round = 0; round < 10_000 / AT_ONCE; round++) {
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => {
        const client_message_id = keys[(round * AT_ONCE + index) % keys.length]!;
        return nodes[(round + index) % 2]!.writePath.append(outgoing(ground, { client_message_id }));
      }),
    );
    wrong += answers.filter(({ row, resent }) => !resent || ids.get(row.client_message_id) !== row.id).length;
  }
  t.equal(wrong, 0, 'each is answered with its original');

  const { row: last } = await nodes[1].writePath.append(outgoing(ground));
  await until(async () => (await numbers(ground)).length === last.sequence, { what: 'no hole' });
  const rows = await numbers(ground);
  t.equal(rows.filter(({ status }) => status === 'sent').length, keys.length + 1);
  const voids = rows.filter(({ status }) => status === 'void').length;
  t.ok(voids <= MAX_VOIDED + AT_ONCE, `${voids} voids: a minute's allowance and what was under way`);
});

t.test(
  'a resend that arrives while the first is under way shares its answer and takes no number',
  async (t) => {
    const [ground, nodes] = await twoNodes(t);
    const first = nodes[0].writePath.append(outgoing(ground, { client_message_id: 'once' }));
    const second = nodes[0].writePath.append(outgoing(ground, { client_message_id: 'once' }));
    t.match(await first, { resent: false, row: { sequence: 1 } });
    t.match(await second, { resent: true, row: (await first).row });
    t.match((await nodes[0].writePath.append(outgoing(ground))).row, { sequence: 2 });
  },
);

type Node = ReturnType<typeof openWritePath>;

async function twoNodes(t: Parameters<typeof createGround>[0]): Promise<[Ground, [Node, Node]]> {
  const ground = await createGround(t);
  const other = await openDatabase({ url: ground.url, log });
  t.teardown(() => other.close());
  const engine = new MemoryEngine<Frame>();
  return [ground, [openWritePath(ground, engine), openWritePath(ground, engine, { database: other })]];
}
