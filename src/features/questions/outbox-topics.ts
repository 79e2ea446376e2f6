/** Outbox topics of this feature (platform/db/queue/topic.ts), handled after their commit. */

import type { QuestionStatus } from '@parley/protocol/resources/question.ts';
import { defineTopic } from '../../platform/db/queue/topic.ts';

/** A question has ended: its event follows (ended.ts). */
export const QUESTION_ENDED = defineTopic<QuestionEnded>('questions.ended');

export interface QuestionEnded {
  readonly account_id: string;
  readonly conversation_id: string;
  readonly message_id: string;
  readonly status: Exclude<QuestionStatus, 'open'>;
  readonly ended_at: string;
  /** The actor that answered or withdrew it, or null. */
  readonly by: string | null;
  readonly callback_url: string | null;
}
