/**
 * The text and the files of a run around its pauses: one reply to a customer, files that are shown,
 * one output.
 */

import { newId } from '@parley/protocol/ids.ts';
import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';
import t from 'tap';
import { approveDraft } from '../../src/core/messages/drafts/drafts.ts';
import { editMessage } from '../../src/core/messages/editing/edit-message.ts';
import { type AgentRow, findAgent } from '../../src/core/resources/agent.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import type { Completion } from '../../src/features/agents/models/chain.ts';
import type { AgentReply } from '../../src/features/agents/replies/reply.ts';
import { ReplyText } from '../../src/features/agents/replies/reply-text.ts';
import {
  Execution,
  type ExecutionOptions,
  endClaimed,
} from '../../src/features/agents/runs/execution/execution.ts';
import { RunFailure } from '../../src/features/agents/runs/execution/failure.ts';
import { takeRun } from '../../src/features/agents/runs/state/lease-store.ts';
import { findRun, updateRun } from '../../src/features/agents/runs/state/store.ts';
import type { RunTool } from '../../src/features/agents/tools/tool.ts';
import { Ground } from '../gateway/fixture.ts';
import { ReplyNode } from '../support/reply-node.ts';
import { sealOf, streamedText } from '../support/streamed-text.ts';
import { log } from '../support/timeline.ts';

/** A turn of the model: its text, the text that it takes back first, and its calls of tools. */
interface Said {
  readonly takenBack?: string;
  readonly text?: string;
  readonly calls?: readonly ('ask' | 'file')[];
  readonly fails?: Error;
}

const ground = await Ground.start(t);
const node = ReplyNode.start(t, ground);
const { database, demo, engine } = ground;
const agent = await findAgent(database, demo.account_id, demo.agent.id);
const PAUSES: Said = { text: 'Dear Cleo,', calls: ['file', 'ask'] };

t.test('a customer also gets the text from before the pause, with its files', async (t) => {
  const id = await node.conversation('customer');
  const reader = await ground.ready();
  await reader.request('subscribe', { conversation_id: id });
  await reader.frame('caught_up');
  const paused = await pausedOn(id);
  const [first] = await messagesOf(paused);
  t.match(first, { status: 'draft', body: 'Dear Cleo,', files: ['notes.md'] });

  const run = await approved(paused);
  const turns: Said[] = [
    { text: 'One moment.', calls: ['file'] },
    { takenBack: 'It fa', text: 'It is done.' },
  ];
  t.equal(await execute(run, turns), 'completed');
  const whole = 'Dear Cleo,\n\nOne moment.\n\nIt is done.';
  const [old, last] = await messagesOf(run);
  t.match(old, { id: first!.id, status: 'superseded' });
  t.match(last, { status: 'draft', body: whole, streaming_state: 'complete' });
  t.strictSame(last!.files, ['notes.md', 'notes.md']);
  t.match(await outputOf(run), { text: whole, message_id: last!.id });

  const end = await reader.frame(
    ({ event, data }) => event === 'draft.updated' && data?.id === last!.id && data.stream !== undefined,
  );
  t.match(end.data, { body: whole, stream: sealOf(whole, 2) });
  const created = reader.frames.find(({ event, data }) => event === 'draft.created' && data?.id === last!.id);
  t.match(created?.data, { body: '', streaming_state: 'streaming' });
  t.strictSame(streamedText(reader.frames, last!.id), { attempt: 2, body: whole });
  reader.close();
});

t.test('a run that writes nothing more leaves the draft as it is, and the draft is its reply', async (t) => {
  const paused = await pausedOn(await node.conversation('customer'));
  const [before] = await messagesOf(paused);
  const run = await approved(paused);
  await execute(run, [{}]);
  t.strictSame(await messagesOf(run), [before]);
  t.match(await outputOf(run), { text: 'Dear Cleo,', message_id: before!.id, artifacts: [/^art_/] });
  await node.replies.deliver(run, await node.principal('messaging:send_external'));
  t.match(await messagesOf(run), [{ status: 'sent' }]);
});

t.test('a file made after the pause is attached to the text from before it', async (t) => {
  const run = await approved(await pausedOn(await node.conversation('customer')));
  await execute(run, [{ calls: ['file'] }, {}]);
  t.match(await messagesOf(run), [
    { status: 'superseded' },
    { status: 'draft', body: 'Dear Cleo,', files: ['notes.md', 'notes.md'] },
  ]);
});

t.test('a draft that answers no message is gone on with too', async (t) => {
  const paused = await node.claim(await node.conversation('customer'));
  await execute(paused, [PAUSES]);
  const run = await approved(paused);
  await execute(run, [{ text: 'It is done.' }]);
  t.match(await messagesOf(run), [
    { status: 'superseded' },
    { status: 'draft', body: 'Dear Cleo,\n\nIt is done.', files: ['notes.md'] },
  ]);
});

t.test('text that people have sent meanwhile is not sent again', async (t) => {
  const run = await approved(await pausedOn(await node.conversation('customer')));
  const reply = await node.open(run);
  const [draft] = await messagesOf(run);
  const principal = await adaNow();
  await approveDraft(node.lockedWrites, principal, await node.row(draft!.id), {}, async () => ({}));
  await execute(run, [{ text: 'It is done.' }], reply);
  t.match(await messagesOf(run), [
    { status: 'sent', body: 'Dear Cleo,', files: ['notes.md'] },
    { status: 'draft', body: 'It is done.', files: [] },
  ]);
});

t.test('text that people have edited stays, and is not sent without them', async (t) => {
  const id = await node.conversation('customer');
  const run = await approved(await pausedOn(id));
  const [draft] = await messagesOf(run);
  const request = { principal: await adaNow(), facts: await node.facts(id), row: await node.row(draft!.id) };
  await database.transaction((tx) => editMessage(tx, request, { body: 'Dear Mrs Cleo,' }));
  await execute(run, [{ text: 'It is done.' }]);
  await node.replies.deliver(run, await node.principal('messaging:send_external'));
  const last = (await messagesOf(run)).at(-1);
  t.match(last, { status: 'draft', body: 'Dear Mrs Cleo,\n\nIt is done.', files: ['notes.md'] });
});

t.test('the head stays, whatever text after it is reset', async (t) => {
  const text = new ReplyText();
  text.append('One');
  text.begin('Dear Cleo,');
  t.strictSame([text.body, text.ownText], ['Dear Cleo,\n\nOne', 'One']);
  t.equal(text.reset(2), 'Dear Cleo,\n\nOn'.length);
  t.equal(text.reset(0), 'Dear Cleo,'.length);
  text.append('Two');
  t.equal(text.body, 'Dear Cleo,\n\nTwo');
});

t.test('the head counts towards the maximum length of a message', async (t) => {
  const long = 'x'.repeat(MESSAGE_LIMITS.bodyCharacters - 4);
  const run = await approved(
    await pausedOn(await node.conversation('customer'), { text: long, calls: ['ask'] }),
  );
  await execute(run, [{ text: 'It is done.' }]);
  const whole = `${long}\n\nIt`;
  t.equal((await messagesOf(run)).at(-1)?.body, whole);
  t.equal((await outputOf(run))?.text, whole);
});

t.test('files are shown even without text, at each pause and at the end', async (t) => {
  const id = await node.conversation();
  const paused = await pausedOn(id, { calls: ['file', 'ask'] });
  const alone = { status: 'sent', body: '', files: ['notes.md'], streaming_state: 'complete' };
  t.match(await messagesOf(paused), [alone]);
  const run = await approved(paused);
  await execute(run, [{ calls: ['file'] }, {}]);
  const messages = await messagesOf(run);
  t.match(messages, [alone, alone]);
  t.match(await outputOf(run), { text: '', message_id: messages[1]!.id });

  for (const move of ['fail', 'cancel'] as const) {
    const broken = await node.claim(id);
    const reply = await node.open(broken);
    await t.rejects(execute(broken, [{ calls: ['file'] }, { fails: new RunFailure('No.') }], reply));
    t.ok(await endClaimed({ database, admit }, broken, reply, { move, error: 'No.' }));
    t.match(await messagesOf(broken), [alone], move);
  }
});

t.test('no file is put where its agent has lost its place, or where it was deleted', async (t) => {
  const id = await node.conversation();
  const paused = await pausedOn(id, { calls: ['file', 'ask'] });
  const [message] = await messagesOf(paused);
  await database.kysely.deleteFrom('attachments').where('message_id', '=', message!.id).execute();
  const run = await approved(paused);
  await execute(run, [{}]);
  t.match(await messagesOf(run), [{ files: [] }]);

  const removed = await node.claim(id);
  const reply = await node.open(removed);
  await t.rejects(execute(removed, [{ calls: ['file'] }, { fails: new RunFailure('No.') }], reply));
  await ground.setMember(id, agent.actor_id, false);
  t.ok(await endClaimed({ database, admit }, removed, reply, { move: 'fail', error: 'No.' }));
  t.strictSame(await messagesOf(removed), []);
});

t.test('a run whose text cannot be written ends for the reason that it has', async (t) => {
  const id = await node.conversation('customer');
  const run = await node.claim(id);
  const reply = await node.open(run);
  await database.kysely
    .updateTable('conversations')
    .set({ status: 'archived' })
    .where('id', '=', id)
    .execute();
  reply.append('Dear Cleo,');
  t.ok(await endClaimed({ database, admit }, run, reply, { move: 'fail', error: 'No model answered.' }));
  const { status, error_message } = await findRun(database, demo.account_id, run.id);
  t.strictSame([status, error_message], ['failed', 'No model answered.']);
  t.strictSame(await messagesOf(run), []);
});

t.test('the output is of the whole run', async (t) => {
  const spoken = await approved(
    await pausedOn(await node.conversation(), { text: 'May I?', calls: ['ask'] }),
  );
  const [message] = await messagesOf(spoken);
  await execute(spoken, [{}]);
  t.strictSame(await outputOf(spoken), { text: 'May I?', message_id: message!.id });

  const alone = await approved(await pausedOn(null, { text: 'May I?', calls: ['ask'] }));
  await execute(alone, [{ calls: ['file'] }, { takenBack: 'Do', text: 'Done.' }]);
  t.match(await outputOf(alone), { text: 'May I?\n\nDone.', message_id: undefined, artifacts: [/^art_/] });
});

/** A run that waits for people after its first turn. */
async function pausedOn(conversationId: string | null, said: Said = PAUSES): Promise<RunRow> {
  const run = await node.claim(conversationId, conversationId && (await questionIn(conversationId)));
  t.equal(await execute(run, [said]), 'paused');
  return run;
}

/** By the customer, where there is one: what a colleague has answered is not answered again. */
async function questionIn(conversationId: string): Promise<string> {
  const customer = await database.kysely
    .selectFrom('participants')
    .select('actor_id')
    .where('conversation_id', '=', conversationId)
    .where('type', '=', 'customer')
    .executeTakeFirst();
  const asked = customer?.actor_id
    ? await node.external(conversationId, customer.actor_id)
    : await node.send(conversationId);
  return asked.id;
}

/** The same run, claimed again after people have allowed what it asked for. */
async function approved({ id }: RunRow): Promise<RunRow> {
  await database.transaction(async (tx) => {
    await tx.kysely
      .updateTable('agent_run_actions')
      .set({ status: 'approved' })
      .where('run_id', '=', id)
      .where('status', '=', 'pending_review')
      .execute();
    await updateRun(tx, id, { status: 'running' });
  });
  return (await takeRun(database, engine.nodeId, id))!;
}

async function execute(
  run: RunRow,
  turns: readonly Said[],
  opened?: AgentReply,
): Promise<'completed' | 'paused'> {
  const left = [...turns];
  const tools = [tool('ask', run, true), tool('file', run, false)];
  const chain: ExecutionOptions['chain'] = {
    contextTokens: 20_000,
    async complete(_prompt, { onText, onFailover }) {
      const { takenBack, text = '', calls = [], fails } = left.shift()!;
      if (fails !== undefined) throw fails;
      if (takenBack !== undefined) {
        onText(takenBack);
        onFailover({ provider: 'p', model: 'm', reason: 'cut' });
      }
      for (const token of text.match(/\s*\S+/g) ?? []) onText(token);
      return completion(text, calls);
    },
  };
  return new Execution({
    database,
    log,
    run,
    agent: agent as AgentRow,
    admit,
    chain,
    tools,
    readTools: async () => tools,
    principal: adaNow,
    reply: opened ?? (await node.open(run)),
    instructions: 'Do it.',
    isStartedByMail: false,
    history: [{ role: 'user', text: 'Go on.' }],
    signal: new AbortController().signal,
  }).run();
}

/** `file` leaves what `create_artifact` does: a row. */
function tool(name: 'ask' | 'file', run: RunRow, needsReview: boolean): RunTool {
  const spec = { name, description: '', parameters: { type: 'object', properties: {} } };
  return {
    slug: name,
    category: 'built_in',
    spec,
    mutating: name === 'file',
    needsReview,
    reachesOutside: () => false,
    async call() {
      if (name === 'file') await insertArtifact(run);
      return { output: 'done' };
    },
  };
}

async function insertArtifact({ id: run_id, account_id }: RunRow): Promise<void> {
  await database.kysely
    .insertInto('artifacts')
    .values({
      id: newId('artifact'),
      account_id,
      run_id,
      s3_key: newId('upload'),
      filename: 'notes.md',
      content_type: 'text/markdown',
      size_bytes: 2,
    })
    .execute();
}

function completion(text: string, calls: NonNullable<Said['calls']>): Completion {
  return {
    provider: 'p',
    model: 'm',
    text,
    reason: calls.length > 0 ? 'calls' : 'stop',
    calls: calls.map((name) => ({ id: `call_${name}`, name, arguments: '{}' })),
    inputTokens: null,
    outputTokens: null,
    costUsd: null,
    failovers: [],
  };
}

/** Returns the texts of the run, oldest first. */
async function messagesOf({ id }: RunRow) {
  const rows = await database.kysely
    .selectFrom('messages')
    .select(['id', 'status', 'body', 'streaming_state', 'updated_at'])
    .where('agent_run_id', '=', id)
    .orderBy('id')
    .execute();
  const ids = rows.map((row) => row.id);
  const files = await database.kysely
    .selectFrom('attachments')
    .select(['message_id', 'filename'])
    .where('message_id', 'in', ['', ...ids])
    .execute();
  return rows.map((row) => ({
    ...row,
    files: files.flatMap(({ message_id, filename }) => (message_id === row.id ? [filename] : [])),
  }));
}

async function outputOf({ id }: RunRow) {
  const { output } = await findRun(database, demo.account_id, id);
  return output as { readonly text: string; readonly message_id?: string } | null;
}

function adaNow() {
  return ground.authenticator.principalOf({
    accountId: demo.account_id,
    actorId: demo.users.ada.id,
    credential: { kind: 'access_token', id: 'test', expiresAtMs: null },
  });
}

function admit<T>(work: () => Promise<T>): Promise<T> {
  return work();
}
