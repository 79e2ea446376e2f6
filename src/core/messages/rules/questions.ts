import { invalid } from '@parley/protocol/errors/errors.ts';
import type { SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { Question } from '@parley/protocol/resources/question.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import type { AddressGuard } from '../../../platform/outbound/address-guard.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import type { MessageKey, MessageRow } from '../../resources/message.ts';

declare module '../../../platform/hooks.ts' {
  interface HookTable {
    /** Without an entry, no message may ask. */
    questions: QuestionsOfMessages;
    /** Without an entry, no question has a callback. */
    callbacks: CallbacksOfQuestions;
  }
}

/** What a message that asks needs beside its text. */
export interface QuestionsOfMessages {
  /** Checks what depends on the body and the caller alone. Throws ApiError. */
  check(from: QuestionChecks, principal: Principal, body: SendMessageBody): Promise<void>;
  /** Returns what the message asks. Throws ApiError. */
  compose(principal: Principal, facts: ConversationFacts, body: SendMessageBody): ComposedQuestion;
  /** Writes what waits for the end of the question, in the transaction of its message. */
  asked(tx: Tx, row: MessageRow, body: SendMessageBody): Promise<void>;
  /** Ends the question of a locked message whose content goes. */
  withdrawn(tx: Tx, row: MessageRow): Promise<void>;
  /** Withdraws the question of a message, if it is open. */
  withdraw(tx: Tx, key: MessageKey): Promise<unknown>;
}

interface QuestionChecks {
  readonly database: Db;
  /** Decides which addresses a callback may have. */
  readonly guard: AddressGuard;
}

/** The account's own part in the callbacks of its questions. */
export interface CallbacksOfQuestions {
  /** Throws ApiError `resource_conflict` unless the account has a secret that signs callbacks. */
  require(db: Db, accountId: string, param: string): Promise<void>;
}

export interface ComposedQuestion {
  readonly question: Question;
  /** The body of a message that states none. */
  readonly body: string;
  /** Actor ids. */
  readonly mentions: readonly string[];
}

export function questionsOf({ hooks }: Pick<Db, 'hooks'>): QuestionsOfMessages | undefined {
  return hooks.first('questions');
}

/** Returns the same, for a message that asks. Throws ApiError `validation_failed`. */
export function requireQuestions(db: Pick<Db, 'hooks'>): QuestionsOfMessages {
  const questions = questionsOf(db);
  if (questions === undefined) throw invalid('question', 'This installation has no questions. Leave it out.');
  return questions;
}
