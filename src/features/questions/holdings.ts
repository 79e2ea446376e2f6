import type { Question } from '@parley/protocol/resources/question.ts';
import { enqueueRowsChanged } from '../../core/events/changes.ts';
import type { Holdings } from '../../core/resources/holdings.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import { setTouched } from '../../platform/db/tables/touched.ts';
import { QUESTION_ENDED } from './outbox-topics.ts';
import { readOpenIn } from './question-store.ts';
import { endUnanswered } from './questions.ts';

/** Questions go with their messages, and answers also with the person that gave them. */
export const holdings: Holdings = {
  tables: {
    questions: {
      account: 'first',
      message_id: 'purged',
      conversation_id: 'purged',
      answered_by: 'erased',
      moved: { last: 't.expires_at IS NOT NULL' },
    },
  },
  async purgeMessages(tx, _conversationId, messages) {
    const rows = await tx.query(
      PURGE,
      messages.map(({ id }) => id),
    );
    // What waits for the answer hears that none will come.
    for (const { expires_at, now, ...row } of rows) {
      if (expires_at === null) continue;
      await enqueue(tx, QUESTION_ENDED, { ...row, status: 'withdrawn', ended_at: now, by: null });
    }
    return { rows: rows.length };
  },
  async purgeConversation(tx, conversationId, limit) {
    return { rows: (await tx.query(PURGE_CONVERSATION, conversationId, limit)).length };
  },
  async endWorkIn(database, { id }) {
    for (const key of await readOpenIn(database, id)) {
      await database.transaction((tx) => endUnanswered(tx, key, 'withdraw'));
    }
  },
  async copiesOf(tx, messageId) {
    const [row] = await tx.query(READ_QUESTION, messageId);
    return { ids: [], texts: row === undefined ? [] : textsOf(row.question) };
  },
  async erasePerson(database, { id, removesMessages, signal }) {
    if (!removesMessages) return;
    for (let blanked = AT_ONCE; blanked === AT_ONCE; ) {
      signal.throwIfAborted();
      blanked = await database.transaction(async (tx) => {
        const rows = await tx.query(BLANK_ANSWERS, id, AT_ONCE);
        await enqueueRowsChanged(tx, 'message.updated', rows);
        return rows.length;
      });
    }
  },
  async movePerson(tx, { from, to, conversationIds, events }) {
    const moved = await tx.query(MOVE_ANSWERS, from, to, conversationIds);
    const named = await tx.query(MOVE_NAMED, from, to, conversationIds);
    for (const { id, conversation_id: stream } of [...moved, ...named]) {
      events.push({ event: 'message.updated', id, stream });
    }
  },
};

/** Returns the texts of a question and its answer, which others may have copied. */
function textsOf({ text, answer }: Question): string[] {
  const values = Object.values(answer?.values ?? {});
  return [text, ...values.flatMap((value) => (typeof value === 'string' ? value : []))];
}

const AT_ONCE = 200;

type KeyRow = { readonly id: string; readonly conversation_id: string };

const PURGE = statement<
  [messageIds: readonly string[]],
  {
    account_id: string;
    conversation_id: string;
    message_id: string;
    callback_url: string | null;
    expires_at: string | null;
    now: string;
  }
>('purge-questions')`
    DELETE FROM questions WHERE message_id = ANY($1)
    RETURNING account_id, conversation_id, message_id, callback_url, expires_at, clock_timestamp() AS now`;

const PURGE_CONVERSATION = statement<[conversationId: string, limit: number], object>(
  'purge-questions-of-conversation',
)`
    DELETE FROM questions WHERE message_id IN (
      SELECT message_id FROM questions WHERE conversation_id = $1 LIMIT $2
    ) RETURNING message_id`;

const READ_QUESTION = statement<[messageId: string], { question: Question }>('read-question-of-message')`
    SELECT question FROM messages WHERE id = $1 AND question IS NOT NULL`;

// Under a legal hold nothing goes. The message is locked before the row beside it.
const BLANK_ANSWERS = statement<[personId: string, limit: number], KeyRow>('blank-answers-of-person')`
    WITH locked AS (
      SELECT m.id, m.conversation_id FROM questions q JOIN conversations c ON c.id = q.conversation_id
        JOIN messages m ON m.id = q.message_id AND m.conversation_id = q.conversation_id
      WHERE q.answered_by = $1 AND c.legal_hold <> 'held' ORDER BY m.id LIMIT $2 FOR UPDATE OF m
    ), forgotten AS (
      UPDATE questions q SET answered_by = NULL FROM locked l WHERE q.message_id = l.id
    )
    UPDATE messages m SET ${setTouched('later_than(m.updated_at)')},
      question = jsonb_set(jsonb_set(m.question, '{answer,option}', 'null'), '{answer,values}', 'null')
    FROM locked l WHERE m.id = l.id AND m.conversation_id = l.conversation_id AND m.question->'answer' <> 'null'
    RETURNING m.id, m.conversation_id`;

type MoveValues = [from: string, to: string, conversationIds: readonly string[]];

const MOVE_ANSWERS = statement<MoveValues, KeyRow>('move-answers')`
    WITH moved AS (
      UPDATE questions SET answered_by = $2 WHERE answered_by = $1 AND conversation_id = ANY($3)
      RETURNING message_id, conversation_id
    )
    UPDATE messages m SET ${setTouched('later_than(m.updated_at)')},
      question = jsonb_set(m.question, '{answer,by}', to_jsonb($2::text))
    FROM moved q WHERE m.id = q.message_id AND m.conversation_id = q.conversation_id
      AND m.question->'answer' <> 'null'
    RETURNING m.id, m.conversation_id`;

const MOVE_NAMED = statement<MoveValues, KeyRow>('move-answerers')`
    UPDATE messages m SET ${setTouched('later_than(m.updated_at)')},
      question = jsonb_set(m.question, '{actor_ids}', (
        SELECT jsonb_agg(DISTINCT CASE WHEN named.id = $1 THEN $2 ELSE named.id END)
        FROM jsonb_array_elements_text(m.question->'actor_ids') AS named(id)))
    FROM questions q WHERE q.conversation_id = ANY($3) AND m.id = q.message_id
      AND m.conversation_id = q.conversation_id AND m.question->'actor_ids' ? $1
    RETURNING m.id, m.conversation_id`;
