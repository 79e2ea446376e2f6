/** Questions that runs wait for (`ask_person`). */

import type { Question } from '@parley/protocol/resources/question.ts';
import { RUN_MOVES } from '@parley/protocol/states/agent-run-states.ts';
import type { ActionRow, RunRow } from '../../../../core/resources/run.ts';
import type { Database } from '../../../../platform/db/connection/database.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';
import { awaitMessage, endAction } from './action-store.ts';
import { continueIfAnswered } from './approvals.ts';

/**
 * Has a begun action wait for the end of the question of a message. `tx` holds the run's lock. The
 * lock of the message decides between this and the end: an end that comes first is the outcome at
 * once, and one that comes later finds the action.
 */
export async function awaitAnswer(tx: Tx, action: ActionRow, messageId: string): Promise<ActionRow> {
  const waiting = await awaitMessage(tx, action, messageId);
  const [row] = await tx.query(LOCK_QUESTION, messageId);
  return row?.question?.status === 'open' ? waiting : endAnswered(tx, waiting, row?.question ?? null);
}

/**
 * Handles the end of a question: its outcome is the result of the action that waits for it, and the
 * run goes on once none waits any more. May be called again for the same end.
 */
export async function onQuestionEnded(database: Database, messageId: string): Promise<void> {
  const [found] = await database.query(FIND_WAITING, messageId);
  if (found === undefined) return;
  await database.transaction(async (tx) => {
    const [run] = await tx.query(LOCK_RUN, found.run_id);
    const [action] = await tx.query(READ_WAITING, messageId);
    if (run === undefined || action === undefined) return;
    const [row] = await tx.query(LOCK_QUESTION, messageId);
    await endAnswered(tx, action, row?.question ?? null);
    // A run that has not paused yet sees the outcome when it does.
    if (run.status === RUN_MOVES.ask.to) await continueIfAnswered(tx, run);
  });
}

/** Withdraws the questions of a run that has ended without their answers. */
export async function withdrawQuestions(database: Database, runId: string): Promise<void> {
  const questions = database.hooks.first('questions');
  if (questions === undefined) return;
  for (const key of await database.query(READ_ASKED, runId)) {
    await database.transaction((tx) => questions.withdraw(tx, key));
  }
}

/** `question` is null where its message was deleted. */
function endAnswered(tx: Tx, action: ActionRow, question: Question | null): Promise<ActionRow> {
  const { status = 'withdrawn', answer = null } = question ?? {};
  const { by = null, option = null, values = null } = answer ?? {};
  const result = { message_id: action.awaits, status, by, option, values };
  return endAction(tx, action, { move: 'complete', result });
}

const LOCK_QUESTION = statement<[messageId: string], { question: Question | null }>('lock-awaited-question')`
    SELECT question FROM messages WHERE id = $1 FOR SHARE`;

const WAITING = `awaits = $1 AND status = 'executing'`;

const FIND_WAITING = statement<[messageId: string], { run_id: string }>('find-run-awaiting-answer')`
    SELECT run_id FROM agent_run_actions WHERE ${WAITING}`;

const READ_WAITING = statement<[messageId: string], ActionRow>('read-action-awaiting-answer')`
    SELECT * FROM agent_run_actions WHERE ${WAITING}`;

const LOCK_RUN = statement<[id: string], RunRow>('lock-run-awaiting-answer')`
    SELECT * FROM agent_runs WHERE id = $1 FOR UPDATE`;

// A node may have died between the message and the note of it, so the id of the action finds it.
const READ_ASKED = statement<[runId: string], { id: string; conversation_id: string }>(
  'read-questions-of-ended-run',
)`
    SELECT m.id, m.conversation_id FROM agent_run_actions a JOIN agent_runs r ON r.id = a.run_id
      JOIN messages m ON m.conversation_id = coalesce(a.arguments::jsonb->>'conversation_id', r.conversation_id)
        AND m.author_id = r.actor_id AND m.client_message_id = a.id
    WHERE a.run_id = $1 AND a.tool = 'ask_person' AND a.status = 'failed' AND m.question->>'status' = 'open'
    ORDER BY m.id`;
