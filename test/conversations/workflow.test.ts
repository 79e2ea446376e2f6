/** The workflow of a case (docs/contract.md#workflow), on real Postgres. */

import { newId } from '@parley/protocol/ids.ts';
import type { WorkflowStatus } from '@parley/protocol/resources/conversation.ts';
import { WORKFLOW_STATUSES } from '@parley/protocol/resources/conversation-values.ts';
import type { WorkflowMove } from '@parley/protocol/states/workflow.ts';
import t from 'tap';
import { moveWorkflow } from '../../src/core/conversations/cases/workflow.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import type { ConversationRow } from '../../src/core/resources/conversation.ts';
import { refused } from '../access/refusal.ts';
import { createGround } from '../support/timeline.ts';

const ground = await createGround(t);
const { database } = ground;

t.test('every move from every status', async (t) => {
  const leads: Record<Exclude<WorkflowMove, 'drafts_decided'>, WorkflowStatus | null> = {
    customer_wrote: 'open',
    automatic_mail: null,
    reply_sent: 'waiting_external',
    draft_opened: 'needs_approval',
    take_up: 'open',
    wait_for_the_team: 'waiting_internal',
    wait_for_the_customer: 'waiting_external',
    resolve: 'resolved',
  };
  for (const lane of WORKFLOW_STATUSES.filter((lane) => lane !== 'needs_approval')) {
    for (const [move, to] of Object.entries(leads) as [WorkflowMove, WorkflowStatus | null][]) {
      const aCase = await caseIn(lane);
      await run(aCase, move);
      const led = to ?? (lane === 'resolved' ? 'new' : lane);
      t.equal((await read(aCase)).workflow_status, led, `${move} from ${lane}`);
    }
  }
});

t.test('while a draft is open the case stays, and what happens changes where it returns to', async (t) => {
  const walks: [from: WorkflowStatus, moves: WorkflowMove[], shown: WorkflowStatus][] = [
    ['waiting_internal', ['draft_opened', 'drafts_decided'], 'waiting_internal'],
    ['resolved', ['draft_opened', 'drafts_decided'], 'resolved'],
    ['new', ['draft_opened', 'draft_opened', 'drafts_decided'], 'new'],
    ['waiting_external', ['draft_opened', 'customer_wrote'], 'needs_approval'],
    ['waiting_external', ['draft_opened', 'customer_wrote', 'drafts_decided'], 'open'],
    ['open', ['draft_opened', 'reply_sent', 'drafts_decided'], 'waiting_external'],
    ['open', ['draft_opened', 'reply_sent', 'customer_wrote', 'drafts_decided'], 'open'],
    ['waiting_internal', ['draft_opened', 'automatic_mail', 'drafts_decided'], 'waiting_internal'],
    ['resolved', ['draft_opened', 'automatic_mail', 'drafts_decided'], 'new'],
    ['open', ['drafts_decided'], 'open'],
  ];
  for (const [from, moves, shown] of walks) {
    const aCase = await caseIn(from);
    for (const move of moves) await run(aCase, move);
    t.equal((await read(aCase)).workflow_status, shown, `${from}: ${moves.join(', ')}`);
  }
});

t.test('it returns when the last of several drafts is decided', async (t) => {
  const aCase = await caseIn('open');
  const [first, second] = [await draftIn(aCase), await draftIn(aCase)];
  await run(aCase, 'draft_opened');
  for (const [draft, lane] of [
    [first, 'needs_approval'],
    [second, 'open'],
  ] as const) {
    await database.kysely
      .updateTable('messages')
      .set({ status: 'rejected' })
      .where('id', '=', draft)
      .execute();
    await run(aCase, 'drafts_decided');
    t.equal((await read(aCase)).workflow_status, lane);
  }
});

t.test('by hand nothing leaves needs_approval', async (t) => {
  const aCase = await caseIn('open');
  await run(aCase, 'draft_opened');
  for (const move of ['take_up', 'wait_for_the_team', 'wait_for_the_customer', 'resolve'] as const) {
    const { condition, param } = await refused(() => run(aCase, move));
    t.strictSame([condition, param], ['resource_conflict', 'workflow_status'], move);
  }
  t.equal((await read(aCase)).workflow_status, 'needs_approval');
});

t.test('the events and messages of each move', async (t) => {
  const aCase = await caseIn('open');
  const steps: [move: WorkflowMove, told: string[]][] = [
    ['customer_wrote', []],
    ['reply_sent', ['conversation.updated']],
    [
      'resolve',
      ['conversation.updated', 'moved waiting_external resolved', 'The conversation was resolved.'],
    ],
    ['resolve', []],
    // A draft on a resolved case neither reopens nor, when it is decided, resolves: customers would
    // see it.
    ['draft_opened', ['conversation.updated']],
    ['drafts_decided', ['conversation.updated']],
    ['draft_opened', ['conversation.updated']],
    ['customer_wrote', ['moved resolved open', 'The conversation was reopened.']],
    ['drafts_decided', ['conversation.updated']],
    ['resolve', ['conversation.updated', 'moved open resolved', 'The conversation was resolved.']],
    // The customer reads the reply, and nothing besides it.
    ['reply_sent', ['conversation.updated', 'moved resolved waiting_external']],
    ['wait_for_the_team', ['conversation.updated', 'moved waiting_external waiting_internal']],
  ];
  for (const [index, [move, told]] of steps.entries()) {
    const before = await read(aCase);
    t.strictSame(await run(aCase, move), told, `step ${index + 1}, ${move}`);
    const { updated_at, changed_in } = await read(aCase);
    const isShown = told.includes('conversation.updated');
    t.equal(updated_at > before.updated_at, isShown, 'updated_at grows with what is shown');
    t.equal(changed_in !== before.changed_in, isShown);
  }
});

t.test('a team conversation has no workflow', async (t) => {
  const { conversation } = await database.transaction((tx) =>
    createConversation(tx, { accountId: ground.accountId, type: 'group', participants: [] }),
  );
  t.strictSame(await run(conversation, 'customer_wrote'), []);
  t.equal((await read(conversation)).workflow_status, null);
});

/** Returns what was written into the outbox and the audit. */
async function run(aCase: ConversationRow, move: WorkflowMove): Promise<string[]> {
  await database.kysely.deleteFrom('outbox').execute();
  await database.kysely.deleteFrom('audit_events').execute();
  await database.transaction(async (tx) => {
    await tx.kysely.selectFrom('conversations').select('id').where('id', '=', aCase.id).forUpdate().execute();
    await moveWorkflow(tx, aCase, move, ground.authorId);
  });
  const audited = await database.kysely.selectFrom('audit_events').selectAll().execute();
  const told = await database.kysely.selectFrom('outbox').selectAll().orderBy('id').execute();
  const payloads = told.map(({ payload }) => payload as { changes?: [{ event: string }]; body?: string });
  return [
    ...payloads.flatMap(({ changes }) => changes?.map(({ event }) => event) ?? []),
    ...audited.map(({ details }) => `moved ${details.from} ${details.to}`),
    ...payloads.flatMap(({ body }) => body ?? []),
  ];
}

async function caseIn(lane: WorkflowStatus): Promise<ConversationRow> {
  const { conversation } = await database.transaction((tx) =>
    createConversation(tx, {
      accountId: ground.accountId,
      type: 'group',
      audience: 'customer',
      participants: [],
    }),
  );
  return database.kysely
    .updateTable('conversations')
    .set({ workflow_status: lane })
    .where('id', '=', conversation.id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function draftIn({ id, account_id }: ConversationRow): Promise<string> {
  const draft = newId('message');
  await database.kysely
    .insertInto('messages')
    .values({
      id: draft,
      account_id,
      conversation_id: id,
      kind: 'chat',
      status: 'draft',
      visibility: 'external',
    })
    .execute();
  return draft;
}

function read({ id }: ConversationRow): Promise<ConversationRow> {
  return database.kysely
    .selectFrom('conversations')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}
