import {
  ChatMessage,
  IncludeInMessage,
  type MessageInclude,
} from '@parley/protocol/resources/chat-message.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import { Answer, type Answered, type CommittingCall } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { ObjectStore } from '../../attachments/storage.ts';
import type { ConversationDirectory } from '../../conversations/directory/directory.ts';
import { expandMessage } from '../../resources/expanded-message.ts';
import type { EncodedMessages } from '../../resources/message.ts';
import type { LockedWrites } from '../timeline/locked-write.ts';
import type { AnswerOf } from '../timeline/outgoing.ts';
import type { Timeline } from '../timeline/timeline.ts';

/** The dependencies of message routes. */
export interface MessageRoutesOptions {
  readonly lockedWrites: LockedWrites;
  readonly database: Database;
  readonly files: ObjectStore;
  readonly directory: ConversationDirectory;
  readonly timeline: Timeline;
  readonly encoded: EncodedMessages;
}

/** The routes that answer with an existing message. */
export const OF_MESSAGE = {
  query: Body({ 'include[]': IncludeInMessage }),
  status: 200,
  response: ChatMessage,
} as const;

/** The two ways into a timeline by which messages of a request commit. */
export const COMMITS = {
  both: 'WritePath commits many messages together, and LockedWrites those that change their conversation.',
  locked:
    'LockedWrites opens the transaction, perhaps more than once, until the message has a sequence number.',
} as const;

/**
 * Answers a call with its message, in the transaction of the message if there is one. `shownAs`
 * makes the answer from the shown message.
 */
export function answering(
  { database, files }: Pick<MessageRoutesOptions, 'database' | 'files'>,
  call: CommittingCall<{ readonly 'include[]'?: readonly MessageInclude[] }>,
  shownAs = (message: ChatMessage) => message,
): AnswerOf<Answered> {
  return async (row, tx, isResend = false) => {
    const { principal, query } = call;
    const shown = await expandMessage(tx ?? database, files, principal, row, query['include[]']);
    const answer = shownAs(shown);
    return call.answer(isResend ? new Answer(201, answer, true) : answer, tx);
  };
}

/**
 * Returns a message as Send Message and Reject Reply Draft answer it: in every version without the
 * resources of its attachments (src/core/attachments/DECISIONS.md#resources-of-attachments).
 */
export function withoutResources(message: ChatMessage): ChatMessage {
  if (!message.attachments?.length) return message;
  return { ...message, attachments: message.attachments.map((one) => ({ ...one, resource: null })) };
}
