/** Rows kept as JSON: what a page gets, what is kept, what is removed. */

import { formAt } from '@parley/protocol/forms/forms.ts';
import { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { Notification } from '@parley/protocol/resources/notification.ts';
import { VERSIONS, type Version } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import {
  EncodedRows,
  type Form,
  parseKeys,
  type RowKey,
  withFields,
} from '../../src/core/resources/encoded-rows.ts';
import {
  completeMessage,
  MESSAGES,
  type MessageExpansions,
  presentMessage,
  type TimelineRow,
} from '../../src/core/resources/message.ts';
import { type FeedRow, NOTIFICATIONS, presentNotification } from '../../src/core/resources/notification.ts';
import { Random } from '../support/random.ts';
import { until } from '../support/until.ts';

t.test('a page is read whole, kept at its second read, and then read by its keys', async (t) => {
  const { rows, stored, reads, bytes, page } = open();
  stored.push(note('a', 1), note('b', 1));
  t.strictSame(shown(await rows.read(page())), ['a 1', 'b 1']);
  t.equal(await bytes(), 0, 'most pages are read once');
  for (let n = 0; n < 2; n++) t.strictSame(shown(await rows.read(page())), ['a 1', 'b 1']);
  t.strictSame(reads, ['whole', 'whole', 'keys']);

  reads.length = 0;
  stored.splice(0, 2, note('c', 1), note('a', 2), note('b', 1));
  t.strictSame(shown(await rows.read(page())), ['c 1', 'a 2', 'b 1'], 'in the order of the keys');
  t.strictSame(shown(await rows.read(page())), ['c 1', 'a 2', 'b 1']);
  t.strictSame(reads, ['keys', 'rows c,a', 'keys'], 'a new row and a new version are read once');
});

t.test(
  'a page that has no room for its rows is not kept, and no row behind its end is encoded',
  async (t) => {
    const { rows, stored, reads, bytes, page } = open();
    for (let n = 0; n < 20; n++) stored.push(note(`r${n}`, 1, 'x'.repeat(200_000)));
    for (let n = 0; n < 3; n++) t.equal((await rows.read(page())).length, 6, 'five have room');
    t.strictSame(reads, ['whole', 'whole', 'whole']);
    t.notOk(await bytes());
  },
);

t.test('a page of which many rows are new is read whole', async (t) => {
  const { rows, stored, reads, page } = open();
  stored.push(note('a', 1));
  await twice(rows, page());
  reads.length = 0;
  for (let n = 0; n < 9; n++) stored.unshift(note(`n${n}`, 1));
  t.equal((await rows.read(page())).length, 10);
  t.strictSame(reads, ['keys', 'whole']);
});

t.test('encoded rows of different forms are kept apart', async (t) => {
  const { rows, stored, reads, page } = open();
  stored.push(note('a', 1));
  await twice(rows, page());
  const forms = VERSIONS.flatMap((version) => [true, false].map((customer): Form => ({ version, customer })));
  for (const form of forms) {
    await rows.read(page({ form }));
    const [row] = await rows.read(page({ form }));
    t.match(JSON.parse(row!.json), form);
  }
  t.equal(reads.filter((read) => read.startsWith('rows')).length, forms.length - 1, `${reads}`);
});

t.test('a row that was deleted behind its key has another one in its place', async (t) => {
  const { rows, stored, page } = open();
  stored.push(note('a', 1));
  await twice(rows, page());
  stored.unshift(note('b', 1));
  const withB = page();
  const shownNow = await rows.read({
    ...withB,
    readRows: async (ids) => {
      stored.splice(0, 1, note('c', 1));
      return withB.readRows(ids);
    },
  });
  t.strictSame(shown(shownNow), ['c 1', 'a 1']);
});

t.test('`forget` removes the row, and the rows that show it', async (t) => {
  const { rows, stored, bytes, page } = open();
  stored.push(note('a', 1), { ...note('b', 1), subject: 'm' }, { ...note('c', 1), subject: 'm' });
  await twice(rows, page());
  const all = await bytes();
  rows.forget('unknown');
  t.equal(await bytes(), all);
  rows.forget('a');
  const two = await bytes();
  t.ok(two < all);
  rows.forget('m');
  t.equal(await bytes(), 0);
  await rows.read(page());
  t.equal(await bytes(), all, 'what is removed may come again');
});

t.test('what was read before a removal is not kept', async (t) => {
  const { rows, stored, bytes, page } = open();
  stored.push(note('a', 1));
  const slow = page();
  await twice(rows, {
    ...slow,
    readWhole: async () => {
      const read = await slow.readWhole();
      rows.forget('a');
      return read;
    },
  });
  t.equal(await bytes(), 0);
});

t.test('what is removed while a large row is encoded is not kept', async (t) => {
  const { rows, stored, bytes, page } = open();
  stored.push(note('a', 1, 'x'.repeat(100_000)), note('b', 1));
  const read = page();
  const readWhole = () => {
    setImmediate(() => rows.forget('a'));
    return read.readWhole();
  };
  await twice(rows, { ...read, readWhole });
  t.notOk(await bytes());
  await twice(rows, read);
  t.ok((await bytes()) > 0, 'it would have been kept');
});

t.test('nothing is kept while other nodes cannot announce what to remove', async (t) => {
  const { rows, stored, rights, bytes, page } = open();
  stored.push(note('a', 1));
  await twice(rows, page());
  t.ok((await bytes()) > 0);
  rights.inDoubt = true;
  await until(async () => (await bytes()) === 0, { what: 'an empty cache' });
  t.strictSame(shown(await rows.read(page())), ['a 1']);
  t.equal(await bytes(), 0);
});

t.test('rows that change without a new version are never kept', async (t) => {
  const { rows, stored, bytes, page } = open();
  stored.push({ ...note('a', 1), isStreaming: true });
  for (const text of ['one', 'two', 'three', 'four']) {
    stored[0] = { ...stored[0]!, text };
    t.match((await rows.read(page()))[0]?.json, text);
  }
  t.equal(await bytes(), 0);
});

t.test('the memory of encoded rows is bounded', async (t) => {
  const { rows, stored, bytes, page } = open(100_000);
  for (let n = 0; n < 200; n++) {
    stored[0] = { ...note(`a${n}`, 1), text: 'x'.repeat(5_000) };
    await twice(rows, page({ name: `${n}` }));
  }
  const kept = await bytes();
  t.ok(kept > 50_000 && kept <= 100_000, `${kept}`);
});

t.test('the keys of encoded rows are parsed', async (t) => {
  t.strictSame(parseKeys([{ keys: null }]), []);
  t.strictSame(parseKeys([{ keys: 'ntf_1 2026-11-22 01:02:03+00,ntf_2 2026-11-22 01:02:03.5+00' }]), [
    { id: 'ntf_1', version: '2026-11-22 01:02:03+00' },
    { id: 'ntf_2', version: '2026-11-22 01:02:03.5+00' },
  ]);
});

t.test('a notification that is completed is the same bytes as one that is made as a whole', async (t) => {
  const random = new Random(20_261_122);
  for (let n = 0; n < 2_000; n++) {
    const row = randomNotification(random);
    const version: Version = random.pick(VERSIONS);
    const sender = random.pick([undefined, null, { id: 'act_1', object: 'actor', name: randomText(random) }]);
    const resource = random.pick([
      undefined,
      null,
      { id: 'ent_1', object: 'entity', handle: randomText(random) },
    ]);
    const json = NOTIFICATIONS.encode(row, { version, customer: false });
    const completed = withFields(json, version, READER, Notification, [
      ['sender', sender],
      ['resource', resource],
    ]);
    const whole = { ...presentNotification(row), sender: sender ?? null, resource: resource ?? null };
    const expected = JSON.stringify(formAt(version, Notification, whole));
    if (completed !== expected) return t.equal(completed, expected);
  }
});

t.test('a message that is completed is the same bytes as one that is made as a whole', async (t) => {
  const random = new Random(20_261_123);
  const sub = (object: string) =>
    random.pick([undefined, null, { id: 'x', object, name: randomText(random) }]);
  for (let n = 0; n < 4_000; n++) {
    const row = randomMessage(random);
    const version = random.pick(VERSIONS);
    const viewer = {
      customer: random.pick([true, false]),
      seesOwnIds: random.pick([true, false]),
      seesHandles: random.pick([true, false]),
      actor: { id: random.pick(['act_1', 'act_2', 'act_3']) },
    };
    const expansions = {
      conversation: sub('conversation'),
      sender: sub('actor'),
      author: sub('actor'),
      attachments: random.pick([undefined, [], [{ object: 'message_attachment', resource: sub('entity') }]]),
      reply_to: sub('chat_message'),
      resource: sub('entity'),
      agent_run: sub('agent_run'),
    } as unknown as MessageExpansions;
    const own = row.author_id === viewer.actor.id ? row.client_message_id : null;
    const json = MESSAGES.encode(row, { version, customer: viewer.customer });
    const completed = completeMessage(json, version, viewer, { ...expansions, client_message_id: own });
    const expected = JSON.stringify(
      formAt(version, ChatMessage, presentMessage(row, viewer, expansions), viewer),
    );
    if (completed !== expected) return t.equal(completed, expected);
  }
});

interface Note extends RowKey {
  readonly text: string;
  readonly subject?: string;
  readonly isStreaming?: boolean;
}

function note(id: string, version: number, text = 'ahoy'): Note {
  return { id, version: `${version}`, text };
}

/** Reads a page until its rows are kept. */
async function twice<Page>(rows: { read(page: Page): Promise<unknown> }, page: Page): Promise<void> {
  for (let n = 0; n < 2; n++) await rows.read(page);
}

/** A cache over rows in memory, with the reads that pages made of them. */
function open(maxBytes?: number) {
  const rights = { inDoubt: false };
  const metrics = createNodeMetrics();
  const stored: Note[] = [];
  const reads: string[] = [];
  const rows = new EncodedRows<Note, null>(
    {
      name: 'notes',
      encode: ({ id, version, text }, form) => JSON.stringify({ id, v: version, text, ...form }),
      linksOf: () => null,
      isVersioned: ({ isStreaming }) => isStreaming !== true,
      subjectOf: ({ id, subject }) => subject ?? id,
    },
    { rights, metrics, ...(maxBytes !== undefined && { maxBytes }) },
  );
  t.teardown(() => rows.close());
  const read = <T>(what: string, result: T): T => {
    reads.push(what);
    return result;
  };
  const page = (fields: { name?: string; form?: Form } = {}) => ({
    name: 'first',
    form: { version: VERSIONS[0], customer: false },
    keyOf: ({ id, version }: Note) => ({ id, version }),
    readWhole: async () => read('whole', [...stored]),
    readKeys: async () =>
      read(
        'keys',
        stored.map(({ id, version }) => ({ id, version })),
      ),
    readRows: async (ids: readonly string[]) =>
      read(`rows ${ids}`, stored.filter(({ id }) => ids.includes(id)).reverse()),
    ...fields,
  });
  const bytes = async () => (await metrics.encodedRowBytes.get()).values[0]?.value;
  return { rows, stored, reads, rights, bytes: async () => (await bytes()) ?? 0, page };
}

function shown(rows: readonly { readonly json: string }[]): string[] {
  return rows.map(({ json }) => {
    const { id, v } = JSON.parse(json) as { id: string; v: string };
    return `${id} ${v}`;
  });
}

const READER = { seesOwnIds: true, seesHandles: true, actor: { id: '' } };

function randomNotification(random: Random): FeedRow {
  const time = () => `2026-11-22T01:02:03.${String(random.below(1_000_000)).padStart(6, '0')}Z`;
  const timeOrNull = () => random.pick([null, time()]);
  return {
    id: `ntf_${random.below(1_000)}`,
    version: '1',
    category: randomText(random),
    title: randomText(random),
    body: random.pick([null, randomText(random)]),
    status: random.pick(['unseen', 'seen', 'read', 'dismissed']),
    priority: random.pick(['low', 'normal', 'high']),
    sender_id: null,
    resource_type: null,
    resource_id: null,
    message_id: random.pick([null, 'msg_1']),
    agent_run_id: random.pick([null, 'run_1']),
    seen_at: timeOrNull(),
    read_at: timeOrNull(),
    dismissed_at: timeOrNull(),
    created_at: time(),
    updated_at: time(),
  };
}

function randomMessage(random: Random): TimelineRow {
  const time = () => `2026-11-22T01:02:0${random.below(3)}.000000Z`;
  const textOrNull = () => random.pick([null, randomText(random)]);
  const actorOrNull = () => random.pick([null, 'act_1', 'act_2']);
  const timeOrNull = () => random.pick([null, time()]);
  return {
    id: 'msg_1',
    version: '1',
    account_id: 'acc_1',
    conversation_id: 'cnv_1',
    sequence: random.below(100) + 1,
    kind: random.pick(['chat', 'system_event', 'agent', 'scheduled', 'email']),
    status: 'sent',
    visibility: random.pick(['internal', 'external', 'system']),
    channel: random.pick(['message', 'email']),
    email_status: random.pick([null, 'bounced']),
    body: textOrNull(),
    subject: textOrNull(),
    cc: random.pick([null, [], [randomText(random), ',"author":null']]),
    mentions: null,
    sender_id: actorOrNull(),
    author_id: actorOrNull(),
    reply_to_id: null,
    resource_type: null,
    resource_id: null,
    agent_run_id: null,
    streaming_state: random.pick([null, 'complete']),
    client_message_id: textOrNull(),
    has_attachments: random.pick([true, false]),
    scheduled_at: timeOrNull(),
    edited_at: timeOrNull(),
    edited_by: actorOrNull(),
    deleted_at: timeOrNull(),
    redaction: random.pick([null, { by: 'act_1', reason: randomText(random), at: time() }]),
    imported: random.pick([null, { import_id: 'imp_1', at: time(), by: actorOrNull() }]),
    incomplete: random.pick([null, 'length', 'content_filter', 'error']),
    question: null,
    event: random.pick([null, { type: 'resolved', by: actorOrNull() }]),
    created_at: time(),
    updated_at: time(),
    outcome: random.pick([
      null,
      { result: 'sent', reason: null, at: time() },
      { result: 'sent', reason: null, at: time(), approved_by: 'act_1' },
    ]),
    metadata: random.pick([null, { sender: randomText(random), public_author: randomText(random) }]),
  };
}

/** Made of what could be taken for the structure of the JSON. */
function randomText(random: Random): string {
  const parts = [
    ',',
    '"',
    '\\',
    ',"sender":null',
    ',"resource":null,',
    '{',
    '}',
    '🚢',
    'é',
    '\n',
    '\u2028',
    'null',
  ];
  return Array.from({ length: random.below(6) }, () => random.pick(parts)).join('');
}
