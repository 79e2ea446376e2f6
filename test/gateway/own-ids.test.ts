/** Conversations named by own ids on sockets, streams and polls (docs/contract.md#own-ids). */

import { EXTERNAL_SINCE } from '@parley/protocol/schema/external-ids.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { sql } from 'kysely';
import t from 'tap';
import { until } from '../support/until.ts';
import { type Client, Ground, type ReceivedFrame } from './fixture.ts';

const ground = await Ground.start(t);
const { demo, database } = ground;
const { group, direct, case: supportCase } = demo.conversations;
const OWN = { [group]: 'crew/1', [supportCase]: 'ticket 7 ⚓' };
for (const [id, external_id] of Object.entries(OWN)) await nameConversation(id, external_id);
// Another account may have the same id for something else.
await database.kysely
  .updateTable('conversations')
  .set({ external_id: 'crew/1' })
  .where('account_id', '=', demo.other_account.account_id)
  .where('id', 'in', (query) =>
    query
      .selectFrom('conversations')
      .select('id')
      .where('account_id', '=', demo.other_account.account_id)
      .limit(1),
  )
  .execute();
await ground.storeMessages(group, 3);

t.test('every request of a socket takes an own id, and frames have the id of Parley', async (t) => {
  const client = await speaking(NEWEST_VERSION);
  const named = { conversation_id: 'ext:crew/1' };
  t.strictSame((await client.request('subscribe', { ...named, after_sequence: 1 })).result, {
    conversation_id: group,
    external_id: 'crew/1',
    head_sequence: 3,
  });
  t.match(await client.frame('caught_up'), { conversation_id: group, sequence: 3 });
  t.strictSame(numbers(client), [2, 3]);
  t.strictSame(
    (await client.request('subscribe', { conversation_id: group, after_sequence: 1 })).result,
    { conversation_id: group, head_sequence: 3 },
    'by its other name it is the same subscription',
  );
  await until(() => client.frames.filter(({ type }) => type === 'caught_up').length === 2, { what: 'two' });
  t.strictSame(numbers(client), [2, 3], 'and nothing comes twice');
  t.ok((await client.request('typing', { ...named, state: 'start' })).ok);
  t.match((await client.request('mark_read', { ...named, sequence: 3 })).result, { unread: 0 });
  const { cursor } = await client.frame('ready');
  t.ok((await client.request('unsubscribe', named)).ok);
  await ground.publish(group, { event: 'draft.created', team: { id: 'msg_gone' } });
  await client.request('ping');
  t.notOk(client.frames.some(({ data }) => data?.id === 'msg_gone'));

  t.ok((await client.request('resume', { cursor, conversations: { 'ext:crew/1': 2, [group]: 1 } })).ok);
  await client.frame('resumed');
  t.strictSame(numbers(client), [2, 3, 2, 3], 'once, from the lower of the two numbers');
  client.close();
});

t.test(
  'an own id that names nothing is refused as an unknown id, and so are all to older versions',
  async (t) => {
    const client = await speaking(EXTERNAL_SINCE);
    const unknown = await client.request('subscribe', { conversation_id: 'cnv_nothere' });
    for (const name of ['ext:nothere', 'ext:', 'ext:crew/1 ', `ext:${'a'.repeat(255)}`, 'ext:CREW/1']) {
      t.strictSame((await client.request('subscribe', { conversation_id: name })).error, unknown.error, name);
    }
    const tooLong = await client.request('subscribe', { conversation_id: `ext:${'a'.repeat(256)}` });
    t.match(tooLong.error, { code: 'validation_failed', param: 'conversation_id' });
    for (const op of ['typing', 'mark_read']) {
      const fields = op === 'typing' ? { state: 'start' } : { sequence: 1 };
      const refused = await client.request(op, { conversation_id: 'ext:nothere', ...fields });
      t.match(refused.error, { code: 'resource_not_found' }, op);
    }
    t.ok((await client.request('unsubscribe', { conversation_id: 'ext:nothere' })).ok);
    const { cursor } = await client.frame('ready');
    await client.request('resume', { cursor, conversations: { 'ext:nothere': 0, [group]: 3 } });
    await client.frame('resumed');
    t.match(
      client.frames.filter(({ type }) => type === 'resync'),
      [{ conversation_id: 'ext:nothere', reason: 'revoked' }],
      'and the others go on',
    );
    client.close();

    const older = await speaking('1.2.harbor');
    const refused = await older.request('subscribe', { conversation_id: 'ext:crew/1' });
    t.strictSame(refused.error, unknown.error);
    older.close();
  },
);

t.test('the right decides, not the name', async (t) => {
  const customer = await speaking(EXTERNAL_SINCE, demo.customer.access_token);
  t.match(await customer.request('subscribe', { conversation_id: 'ext:ticket 7 ⚓' }), {
    ok: true,
    result: { conversation_id: supportCase, external_id: undefined },
  });
  t.match(await customer.request('subscribe', { conversation_id: 'ext:crew/1' }), {
    error: { code: 'resource_not_found', param: 'conversation_id' },
  });
  customer.close();
});

t.test('a stream and a poll take both names of a conversation, which is followed once', async (t) => {
  const subscribe = [
    { conversation_id: group },
    { conversation_id: 'ext:crew/1', after_sequence: 2 },
    { conversation_id: direct },
  ];
  const stream = await ground.stream({ subscribe });
  await until(() => stream.frames.filter(({ type }) => type === 'caught_up').length === 2, { what: 'both' });
  t.match(await stream.frame(({ id }) => id === group), { result: { conversation_id: group } });
  t.strictSame(numbers(stream), [3]);
  const { cursor } = await stream.frame('ready');
  stream.close();

  const again = await ground.stream({ cursor, conversations: { 'ext:crew/1': 1 }, subscribe: [] });
  await again.frame('resumed');
  t.strictSame(numbers(again), [2, 3]);
  again.close();

  const polled = await ground.poll({ subscribe, wait_ms: 0 });
  t.strictSame(numbers(polled), [3]);
  const known = await ground.poll({ conversations: { 'ext:crew/1': 1, [group]: 2 }, wait_ms: 0 });
  t.strictSame(numbers(known), [2, 3]);
});

async function speaking(version: string, credential?: string): Promise<Client> {
  const client = await ground.open({ ...ground.headers(credential), 'Service-Version': version });
  await client.frame('ready');
  return client;
}

async function nameConversation(id: string, external_id: string): Promise<void> {
  await database.kysely
    .updateTable('conversations')
    .set({ external_id, updated_at: sql`updated_at` })
    .where('id', '=', id)
    .execute();
}

/** Returns the numbers of the events in the order of their arrival. */
function numbers({ frames }: { readonly frames: readonly Pick<ReceivedFrame, 'type' | 'sequence'>[] }) {
  return frames.flatMap(({ type, sequence }) => (type === 'event' && sequence ? [sequence] : []));
}
