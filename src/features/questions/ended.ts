import { QuestionAnswer, QuestionEnd } from '@parley/protocol/resources/question.ts';
import type { AccountEvent, EventData, ReadEventData } from '../../core/features/account-event.ts';
import { presentAs } from '../../core/resources/present-as.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { QuestionEnded } from './outbox-topics.ts';
import { type EndedQuestion, readEnded } from './question-store.ts';

/** The event of the end of a question, however it ended. */
export const QUESTION_ENDED_EVENT = 'message.question_ended';

export const readEnds: ReadEventData = async ({ database }, ids) =>
  new Map((await readEnded(database, ids)).map((row) => [row.message_id, dataOf(row)]));

/** Returns the event of an end. A message that was purged meanwhile has no answer any more. */
export function endEvent(database: Db, ended: QuestionEnded): AccountEvent {
  const { account_id, conversation_id, message_id, status, ended_at, by, callback_url } = ended;
  return {
    type: QUESTION_ENDED_EVENT,
    accountId: account_id,
    conversationId: conversation_id,
    resourceId: message_id,
    at: ended_at,
    by,
    runId: null,
    input: null,
    callbackUrl: callback_url,
    async data() {
      const [row] = await readEnded(database, [message_id]);
      return dataOf(row ?? { message_id, conversation_id, status, ended_at, answer: null });
    },
  };
}

function dataOf({ message_id, conversation_id, status, ended_at, answer }: EndedQuestion): EventData {
  const shown = answer && presentAs(QuestionAnswer, answer);
  const value = presentAs(QuestionEnd, { message_id, conversation_id, status, ended_at, answer: shown });
  return { schema: QuestionEnd, value };
}
