import { newId } from '../../../contract/protocol/ids.ts';
import { ChatMessage, IncludeInSend } from '../../../contract/protocol/resources/chat-message.ts';
import type { ConversationAudience } from '../../../contract/protocol/resources/conversation.ts';
import { CreateAlertBody } from '../../../contract/protocol/resources/notification.ts';
import { Body } from '../../../contract/protocol/schema/schema.ts';
import type { TraceContext } from '../../../contract/protocol/traceparent.ts';
import type { Principal } from '../../../platform/access/principal.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { type Answered, defineRoute, type Route } from '../../../platform/http/pipeline/route.ts';
import { readableConversation, requireSender } from '../../conversations/access.ts';
import { systemConversation } from '../../conversations/system-conversation.ts';
import { expandMessage } from '../../resources/expanded-message.ts';
import type { MessageRoutesOptions } from '../route-options.ts';
import { TEXT_ALONE } from '../timeline/new-message.ts';
import type { Outgoing } from '../timeline/outgoing.ts';
import { requireActive } from './external-message.ts';
import type { AnswerOf } from './send.ts';

export function alertRoutes({ files, ...options }: MessageRoutesOptions): Route[] {
  return [
    defineRoute({
      name: 'create_alert',
      method: 'POST',
      path: '/v1/messaging/alerts',
      summary: 'Raise an alert to the admins of the account, or in a conversation',
      since: '1.2.harbor',
      permission: 'alerts:create',
      query: Body({ 'include[]': IncludeInSend }),
      body: CreateAlertBody,
      status: 201,
      response: ChatMessage,
      commits:
        'LockedWrites opens the transaction, perhaps more than once, until the message has a sequence number.',
      handle({ principal, query, body, trace, answer }) {
        const answerOf: AnswerOf<Answered> = async (row, tx) =>
          answer(await expandMessage(tx ?? options.database, files, principal, row, query['include[]']), tx);
        return raiseAlert(options, principal, body, answerOf, trace);
      },
    }),
  ];
}

type AlertOptions = Pick<MessageRoutesOptions, 'database' | 'directory' | 'lockedWrites'>;

/**
 * Create Alert (docs/contract.md#alerts): sends a message of kind `alert` in the caller's name. It
 * is a locked write, so that the answer for an Idempotency-Key is stored together with it: an alert
 * has no client_message_id. Throws ApiError like Send Message.
 */
export async function raiseAlert<Answer extends object>(
  options: AlertOptions,
  principal: Principal,
  body: CreateAlertBody,
  answer: AnswerOf<Answer>,
  trace: TraceContext | undefined,
): Promise<Answer> {
  const place = await placeOf(options, principal, body.conversation_id);
  const outgoing = compose(principal, place, body, trace);
  const { row, followed } = await options.lockedWrites.enter(
    place.id,
    async (_tx, conversation) => {
      requireActive(conversation);
      return outgoing;
    },
    async (tx, written) => {
      const { id, conversation_id } = written.row;
      if (body.priority !== undefined) await tx.query(WRITE_PRIORITY, id, conversation_id, body.priority);
      return answer(written.row, tx);
    },
  );
  return followed ?? answer(row);
}

// The notifications, which get the priority, are created after the commit.
const WRITE_PRIORITY = statement<[id: string, conversationId: string, priority: string]>('write-priority')`
    UPDATE messages SET priority = $3 WHERE id = $1 AND conversation_id = $2`;

interface Place {
  readonly id: string;
  readonly audience: ConversationAudience;
}

/** An alert to the account's admins requires no membership. */
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

function compose(
  { accountId, actor }: Principal,
  place: Place,
  { title, body }: CreateAlertBody,
  trace: TraceContext | undefined,
): Outgoing {
  return {
    message: {
      ...TEXT_ALONE,
      id: newId('message'),
      account_id: accountId,
      conversation_id: place.id,
      kind: 'alert',
      visibility: 'internal',
      body: body ? `${title}\n\n${body}` : title,
      sender_id: actor.id,
      author_id: actor.id,
    },
    sender: actor,
    audience: place.audience,
    trace,
  };
}
