/**
 * The texts that runs write for people: pacing, ends, and drafts for customers
 * (docs/realtime.md#streamed-replies).
 */

import { newId } from '@parley/protocol/ids.ts';
import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';
import { sql } from 'kysely';
import t from 'tap';
import { approveDraft, rejectDraft } from '../../src/core/messages/drafts/drafts.ts';
import { editMessage } from '../../src/core/messages/editing/edit-message.ts';
import { completeAbandoned } from '../../src/features/agents/replies/complete-reply.ts';
import { type Clock, Pace } from '../../src/features/agents/replies/pace.ts';
import { PacedText, type Piece } from '../../src/features/agents/replies/paced-text.ts';
import { ReplyText } from '../../src/features/agents/replies/reply-text.ts';
import { claimReply } from '../../src/features/agents/replies/store.ts';
import { type Client, Ground } from '../gateway/fixture.ts';
import { ReplyNode } from '../support/reply-node.ts';
import { sealOf, streamedText } from '../support/streamed-text.ts';
import { until } from '../support/until.ts';

const WINDOW_MS = 40;
const SHIP = '🚢';

t.test('a text is cut between characters, and no longer than a message', async (t) => {
  const text = new ReplyText();
  text.append(`ahoy ${SHIP}!`);
  t.equal(text.reset(6), 5, 'a reset keeps no half of a pair');
  t.strictSame([text.body, text.attempt], ['ahoy ', 2]);
  text.append('!');
  text.append(`${'x'.repeat(39_993)}${SHIP}behind`);
  t.equal(text.body.length, 39_999);
  text.append('more');
  t.equal(text.body.length, 39_999);
  text.reset(0);
  text.append('room again');
  t.equal(text.body, 'room again');
});

t.test('the first at once, then no two within the window, and at last all of it', async (t) => {
  const { clock, text, paced, pieces, append } = pacing();
  append('held ');
  t.strictSame(pieces, []);
  paced.begin();
  t.strictSame(pieces.splice(0), [{ at: 0, kind: 'delta', attempt: 1, offset: 0, text: 'held ' }]);
  for (let token = 1; token <= 100; token++) {
    clock.pass(7);
    append(`${token} `);
  }
  clock.pass(100);
  let [last, body] = [0, 'held '];
  for (const piece of pieces.splice(0)) {
    if (piece.kind !== 'delta') throw new Error('no reset was asked for');
    t.ok(piece.at - last >= WINDOW_MS, `${last} to ${piece.at}`);
    t.equal(piece.offset, body.length);
    body += piece.text;
    last = piece.at;
  }
  t.equal(body, text.body);
  clock.pass(1_000);
  append('late');
  t.match(pieces.splice(0), [{ at: clock.now(), text: 'late' }], 'at once behind a silence');
});

t.test('a reset is published at once, and never refers to text that was not published', async (t) => {
  const { clock, paced, pieces, append, reset } = pacing();
  paced.begin();
  append('Good ');
  clock.pass(1);
  append('evening');
  reset(7);
  clock.pass(60);
  const delta = pieces.pop();
  t.strictSame(pieces.splice(0), [
    { at: 0, kind: 'delta', attempt: 1, offset: 0, text: 'Good ' },
    { at: 1, kind: 'reset', attempt: 2, keep: 5, reason: 'stalled' },
  ]);
  t.match(delta, { kind: 'delta', attempt: 2, offset: 5, text: 'ev' });
  t.strictSame(paced.snapshot, { attempt: 2, body: 'Good ev' });
  reset(3);
  t.match(pieces.splice(0), [{ kind: 'reset', attempt: 3, keep: 3 }]);
  const held = pacing();
  held.append('Bad');
  held.reset(0);
  held.reset(0);
  held.append('Good');
  held.paced.begin();
  t.match(held.pieces, [
    { kind: 'reset', attempt: 3, keep: 0 },
    { kind: 'delta', attempt: 3, offset: 0, text: 'Good' },
  ]);
});

t.test('replies of agents reach the sockets of a server', async (t) => {
  const ground = await Ground.start(t);
  const node = ReplyNode.start(t, ground);
  const { database, demo } = ground;
  const { ada, grace } = demo.users;

  await t.test('a message that fills: created, deltas, reset, and a seal that fits them', async (t) => {
    const id = await node.conversation();
    const [reader, notified] = [await follower(id), await ground.ready(grace.access_token)];
    const run = await node.claim(id);
    const reply = await node.open(run);
    t.equal(reply.messageId, null);
    reply.append('Good ');
    await reader.frame(({ event }) => event === 'message.delta');
    t.match(await node.row(reply.messageId!), { body: '', agent_run_id: run.id, kind: 'agent' });
    for (const token of ['eve', 'ning', SHIP[0]!]) reply.append(token);
    reply.reset(5, 'stalled');
    for (const token of ['mor', 'ning ', SHIP[0]!, SHIP[1]!]) reply.append(token);
    const artifact = await artifactOf(run.id);
    t.notOk(await countNotifications(reply.messageId!), 'nothing to read yet');
    const { rows: begun } = await sql<{ at: string }>`SELECT clock_timestamp() AS at`.execute(
      database.kysely,
    );
    await node.finish(run, reply, 'completed', [artifact]);

    const end = await reader.frame(({ event }) => event === 'message.updated');
    t.strictSame(streamedText(reader.frames, reply.messageId!), { attempt: 2, body: `Good morning ${SHIP}` });
    t.match(end.data, {
      body: `Good morning ${SHIP}`,
      streaming_state: 'complete',
      stream: sealOf(reply.body, 2),
      attachments: [{ kind: 'file', filename: 'notes.md' }],
      sender: { id: demo.agent.actor_id },
    });
    const [created] = reader.frames.filter(({ event }) => event === 'message.created');
    t.match(created, { sequence: 1, data: { body: '', streaming_state: 'streaming', kind: 'agent' } });
    const pieces = reader.frames.filter(({ event }) => event === 'message.delta');
    t.ok(pieces.every(({ sequence }) => sequence === 1));
    t.ok(reader.frames.indexOf(created!) < reader.frames.indexOf(pieces[0]!));
    const { data } = await notified.frame(({ event }) => event === 'notification.created');
    t.match(data, { category: 'chat.message', body: `Good morning ${SHIP}` });
    t.ok(String(data?.created_at) > begun[0]!.at, 'in the feed it stands where its text ended');
    t.equal(await countNotifications(reply.messageId!), 2, 'once for each of the two');
    t.match(await node.row(reply.messageId!), { has_attachments: true, body: reply.body });
    for (const client of [reader, notified]) client.close();
  });

  await t.test('without a conversation the text is stored and not published', async (t) => {
    const run = await node.claim(null);
    const reply = await node.open(run);
    reply.append('Good evening');
    reply.reset(5, 'stalled');
    reply.append('morning');
    await node.finish(run, reply);
    t.strictSame([reply.body, reply.messageId], ['Good morning', null]);
  });

  await t.test('a node that died: the text so far is completed and published', async (t) => {
    const id = await node.conversation();
    const reader = await follower(id);
    const run = await node.claim(id);
    const reply = await node.open(run);
    reply.append('so far');
    await until(() => reply.messageId, { what: 'the message' });
    await node.replies.checkpoint();
    const kept = await node.row(reply.messageId!);
    t.match(kept, { body: 'so far', streaming_state: 'streaming' });
    t.equal(kept.updated_at, kept.created_at, 'a checkpoint is no event');
    reply.append(', so good');

    await database.transaction(async (tx) => {
      await tx.kysely
        .updateTable('agent_runs')
        .set({ owner: 'another', fence: 2 })
        .where('id', '=', run.id)
        .execute();
    });
    await node.replies.checkpoint();
    t.equal((await node.row(reply.messageId!)).body, 'so far', 'who has lost the run keeps nothing more');
    await database.transaction((tx) => completeAbandoned(tx, run));
    const end = await reader.frame(({ event }) => event === 'message.updated');
    t.match(end.data, { body: 'so far', streaming_state: 'complete', stream: sealOf('so far', 1) });
    reply.abandon();
    await database.transaction((tx) => reply.finish(tx, [], null));
    const abandoned = { body: 'so far', streaming_state: 'complete', incomplete: 'error' };
    t.match(await node.row(reply.messageId!), abandoned);
    await until(async () => (await countNotifications(reply.messageId!)) === 2, { what: 'of the whole' });
    reader.close();
  });

  await t.test('a node that has lost the run writes nothing', async (t) => {
    const run = await node.claim(await node.conversation());
    const reply = await node.open({ ...run, fence: 0 });
    reply.append('too late');
    await t.rejects(reply.settle(), { name: 'ClaimLost' });
    await reply.settle();
    t.equal(reply.messageId, null);
    await t.rejects(claimReply(database, { ...run, owner: 'another' }, 'msg_1'), { name: 'ClaimLost' });
  });

  await t.test('a text that a message has no room for is cut, and says so', async (t) => {
    const run = await node.claim(await node.conversation());
    const reply = await node.open(run);
    reply.append('x'.repeat(MESSAGE_LIMITS.bodyCharacters));
    reply.append(' and more');
    await node.finish(run, reply);
    t.match(await node.row(reply.messageId!), { body: /x$/, incomplete: 'length' });
  });

  await t.test('a draft: the team sees it grow, and cannot decide about it meanwhile', async (t) => {
    const id = await node.conversation('customer');
    const reader = await follower(id);
    const run = await node.claim(id, (await node.external(id, ada.id)).id);
    const reply = await node.open(run);
    reply.append('Dear ');
    await reader.frame(({ event }) => event === 'message.delta');
    reply.append('Cleo');
    const draft = await node.row(reply.messageId!);
    t.match(draft, {
      status: 'draft',
      visibility: 'external',
      author_id: demo.agent.actor_id,
      sequence: null,
    });
    const principal = await principalOf(ada.id);
    const facts = await node.facts(id);
    for (const [what, decide] of Object.entries({
      approve: () => approveDraft(node.lockedWrites, principal, draft, {}, async () => ({})),
      reject: () => database.transaction((tx) => rejectDraft(tx, principal, draft)),
      edit: () =>
        database.transaction((tx) => editMessage(tx, { principal, facts, row: draft }, { body: 'x' })),
    })) {
      const refusal = await decide().then(
        () => undefined,
        (error: unknown) => error,
      );
      t.match(refusal, { condition: 'resource_conflict' }, what);
    }
    await node.finish(run, reply);
    const end = await reader.frame(
      ({ event, data }) => event === 'draft.updated' && data?.stream !== undefined,
    );
    t.match(end.data, { body: 'Dear Cleo', streaming_state: 'complete', stream: sealOf('Dear Cleo', 1) });
    t.strictSame(streamedText(reader.frames, reply.messageId!), { attempt: 1, body: 'Dear Cleo' });
    t.ok(reader.frames.every(({ event, sequence }) => event !== 'message.delta' || sequence === undefined));
    await approveDraft(node.lockedWrites, principal, draft, {}, async () => ({}));
    t.match(await node.row(draft.id), { status: 'sent', body: 'Dear Cleo' });
    reader.close();
  });

  await t.test('a draft on a case with an inbox is to leave as mail', async (t) => {
    const id = await node.conversation('customer');
    const bridged = { inbox_id: demo.inbox.id };
    await database.kysely.updateTable('conversations').set(bridged).where('id', '=', id).execute();
    const run = await node.claim(id, (await node.external(id, ada.id)).id);
    const reply = await node.open(run);
    reply.append('Dear Cleo');
    await until(() => reply.messageId, { what: 'the draft' });
    await node.finish(run, reply);
    t.match(await node.row(reply.messageId!), { status: 'draft', channel: 'email' });
  });

  await t.test('a draft is sent automatically only if no person has written since', async (t) => {
    const allowed = await node.principal('messaging:send_external');
    const cases: Record<string, [sent: boolean, act: (id: string, draft: string) => Promise<unknown>]> = {
      nobody: [true, async () => undefined],
      'the customer': [true, async (id) => node.external(id, await customerOf(id))],
      'a colleague to the team': [true, (id) => node.send(id)],
      'a colleague to the customer': [false, (id) => node.external(id, grace.id)],
      'the draft was edited': [
        false,
        (_id, draft) =>
          database.kysely
            .updateTable('messages')
            .set({ edited_at: new Date().toISOString() })
            .where('id', '=', draft)
            .execute(),
      ],
      'the text is not whole': [
        false,
        (_id, draft) =>
          database.kysely
            .updateTable('messages')
            .set({ incomplete: 'length' })
            .where('id', '=', draft)
            .execute(),
      ],
      'the agent was removed': [false, (id) => ground.setMember(id, demo.agent.actor_id, false)],
    };
    for (const [what, [sent, act]] of Object.entries(cases)) {
      const { id, run, reply } = await drafted();
      await act(id, reply.messageId!);
      await node.replies.deliver(run, allowed);
      const { status, sequence } = await node.row(reply.messageId!);
      t.equal(status, sent ? 'sent' : 'draft', what);
      t.equal(sequence !== null, sent);
    }
    const plain = await drafted();
    await node.replies.deliver(plain.run, await node.principal('messaging:create'));
    t.equal((await node.row(plain.reply.messageId!)).status, 'draft', 'without the permission');
    const failed = await drafted('failed');
    await node.replies.deliver(failed.run, allowed);
    t.equal((await node.row(failed.reply.messageId!)).status, 'draft', 'half a text');
    const second = await drafted('completed', grace.id);
    await node.replies.deliver(second.run, allowed);
    t.equal(
      (await node.row(second.reply.messageId!)).status,
      'draft',
      'started by what a colleague answered',
    );
    await node.replies.deliver(plain.run, allowed);
    await node.replies.deliver(plain.run, allowed);
    t.match(await node.row(plain.reply.messageId!), { status: 'sent', author_id: demo.agent.actor_id });
  });

  await t.test('it does not send over a person who writes at the same moment', async (t) => {
    const allowed = await node.principal('messaging:send_external');
    for (let round = 0; round < 6; round++) {
      const { id, run, reply } = await drafted();
      const delivered = node.replies.deliver(run, allowed);
      // From at once to when it has most likely happened.
      for (let wait = 0; wait < round; wait++) await node.row(reply.messageId!);
      await Promise.all([delivered, node.external(id, grace.id)]);
      const { status, sequence } = await node.row(reply.messageId!);
      const last = await lastOf(id);
      t.ok(status === 'draft' || sequence! < last, `round ${round}: ${status} ${sequence} of ${last}`);
    }
  });

  /** A run that has composed a draft and ended. */
  async function drafted(status: 'completed' | 'failed' = 'completed', by?: string) {
    const id = await node.conversation('customer');
    const question = await node.external(id, by ?? (await customerOf(id)));
    const run = await node.claim(id, question.id);
    const reply = await node.open(run);
    reply.append('Dear Cleo');
    await node.finish(run, reply, status);
    return { id, run, reply };
  }

  async function follower(conversationId: string): Promise<Client> {
    const client = await ground.ready();
    await client.request('subscribe', { conversation_id: conversationId });
    await client.frame('caught_up');
    return client;
  }

  async function customerOf(conversationId: string): Promise<string> {
    const row = await database.kysely
      .selectFrom('participants')
      .select('actor_id')
      .where('conversation_id', '=', conversationId)
      .where('type', '=', 'customer')
      .executeTakeFirstOrThrow();
    return row.actor_id!;
  }

  async function lastOf(conversationId: string): Promise<number> {
    const { last } = await database.kysely
      .selectFrom('messages')
      .select(({ fn }) => fn.max('sequence').as('last'))
      .where('conversation_id', '=', conversationId)
      .executeTakeFirstOrThrow();
    return last ?? 0;
  }

  async function countNotifications(messageId: string): Promise<number> {
    const rows = await database.kysely
      .selectFrom('notifications')
      .select('id')
      .where('message_id', '=', messageId)
      .execute();
    return rows.length;
  }

  async function artifactOf(runId: string): Promise<string> {
    const { id } = await database.kysely
      .insertInto('artifacts')
      .values({
        id: newId('artifact'),
        account_id: demo.account_id,
        run_id: runId,
        s3_key: newId('upload'),
        filename: 'notes.md',
        content_type: 'text/markdown',
        size_bytes: 2,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    return id;
  }

  function principalOf(actorId: string) {
    return ground.authenticator.principalOf({
      accountId: demo.account_id,
      actorId,
      credential: { kind: 'access_token', id: 'test', expiresAtMs: null },
    });
  }
});

/** A text on a clock of the test's own. */
function pacing() {
  const clock = new TestClock();
  const text = new ReplyText();
  const pieces: (Piece & { at: number })[] = [];
  const paced = new PacedText(text, new Pace(WINDOW_MS, clock), (piece) => {
    pieces.push({ at: clock.now(), ...piece });
  });
  return {
    clock,
    text,
    paced,
    pieces,
    append: (said: string) => {
      text.append(said);
      paced.changed();
    },
    reset: (keep: number) => paced.reset(text.reset(keep), 'stalled'),
  };
}

class TestClock implements Clock {
  #now = 0;
  #timers: { at: number; call: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, call: () => void): () => void {
    const timer = { at: this.#now + ms, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  pass(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#now = next.at;
      this.#timers = this.#timers.filter((one) => one !== next);
      next.call();
    }
    this.#now = until;
  }
}
