import type { QuestionStatus } from '@parley/protocol/resources/question.ts';
import type { Generated } from 'kysely';
import type { Time } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends QuestionTables {}
}

interface QuestionTables {
  /** What waits for the end of a question; the question itself is in its message. */
  questions: {
    message_id: string;
    conversation_id: string;
    account_id: string;
    status: Generated<QuestionStatus>;
    /** Null once the question has ended. */
    expires_at: string | null;
    ended_at: string | null;
    /** Actor id. */
    answered_by: string | null;
    /** Where its end is posted, or null. */
    callback_url: string | null;
    created_at: Time;
  };
}
