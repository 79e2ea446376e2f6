import { newId } from '../../../contract/protocol/ids.ts';
import type { CreateAlertBody } from '../../../contract/protocol/resources/alert.ts';
import type { ConversationAudience } from '../../../contract/protocol/resources/conversation.ts';
import type { TraceContext } from '../../../contract/protocol/traceparent.ts';
import type { Principal } from '../../../platform/access/principal.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { readableConversation, requireSender } from '../../conversations/access.ts';
import type { ConversationDirectory } from '../../conversations/directory.ts';
import { systemConversation } from '../../conversations/system-conversation.ts';
import { writePriority } from '../store.ts';
import type { LockedWrites } from '../timeline/locked-write.ts';
import type { Outgoing } from '../timeline/outgoing.ts';
import { requireActive } from './external-message.ts';
import type { AnswerOf } from './send.ts';

export interface AlertOptions {
  readonly database: Database;
  readonly directory: ConversationDirectory;
  readonly lockedWrites: LockedWrites;
}

/**
 * Create Alert (docs/contract.md#alerts): sends a message of kind `alert` in the caller's name. It
 * takes the locked way, so that the answer for an Idempotency-Key is stored together with it: an
 * alert has no client_message_id. Throws ApiError as Send Message does.
 */
export async function raiseAlert<Answer extends object>(
  options: AlertOptions,
  principal: Principal,
  body: CreateAlertBody,
  answer: AnswerOf<Answer>,
  trace: TraceContext | undefined,
): Promise<Answer> {
  const place = await placeOf(options, principal, body.conversation_id);
  const composed = compose(principal, place, body);
  const outgoing = trace === undefined ? composed : { ...composed, trace };
  const { row, followed } = await options.lockedWrites.enter(
    place.id,
    async (_tx, conversation) => {
      requireActive(conversation);
      return { kind: 'new', outgoing };
    },
    async (tx, written) => {
      if (body.priority !== undefined) await writePriority(tx, written.row, body.priority);
      return answer(written.row, tx);
    },
  );
  return followed ?? answer(row);
}

interface Place {
  readonly id: string;
  readonly audience: ConversationAudience;
}

/** To raise an alert to the account's admins, no membership is needed. */
async function placeOf(
  { database, directory }: AlertOptions,
  principal: Principal,
  conversationId: string | undefined,
): Promise<Place> {
  if (conversationId === undefined) {
    return database.transaction((tx) => systemConversation(tx, principal.accountId));
  }
  const facts = await readableConversation(directory, principal, conversationId, 'conversation_id');
  requireSender(principal, facts);
  return facts;
}

function compose({ accountId, actor }: Principal, place: Place, { title, body }: CreateAlertBody): Outgoing {
  return {
    message: {
      id: newId('message'),
      account_id: accountId,
      conversation_id: place.id,
      kind: 'alert',
      visibility: 'internal',
      channel: 'message',
      body: body ? `${title}\n\n${body}` : title,
      subject: null,
      cc: null,
      mentions: null,
      sender_id: actor.id,
      author_id: actor.id,
      agent_run_id: null,
      reply_to_id: null,
      resource_type: null,
      resource_id: null,
      streaming_state: null,
      client_message_id: null,
      attachments: [],
    },
    sender: actor,
    audience: place.audience,
  };
}
