import { newId } from '@parley/protocol/ids.ts';
import { ChatMessage, IncludeInSend } from '@parley/protocol/resources/chat-message.ts';
import { CreateAlertBody } from '@parley/protocol/resources/notification.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { type Answered, type Call, defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { readableConversation, requireSender } from '../../conversations/directory/access.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import { systemConversation } from '../../conversations/lifecycle/system-conversation.ts';
import { answering, COMMITS, type MessageRoutesOptions } from '../reading/message-routes.ts';
import { type NewMessage, TEXT_ALONE } from '../rows/new-message.ts';
import { requireActive } from '../timeline/external-message.ts';
import type { AnswerOf } from '../timeline/outgoing.ts';

export function alertRoutes(options: MessageRoutesOptions): Route[] {
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
      commits: COMMITS.locked,
      handle: (call) => raiseAlert(options, call, answering(options, call)),
    }),
  ];
}

/**
 * Create Alert (docs/contract.md#alerts): sends a message of kind `alert` in the caller's name. It
 * is a locked write, so that the answer for an Idempotency-Key is stored together with it: an alert
 * has no client_message_id. Throws ApiError like Send Message.
 */
async function raiseAlert(
  options: MessageRoutesOptions,
  { principal, body, trace }: Call<unknown, CreateAlertBody>,
  answer: AnswerOf<Answered>,
): Promise<Answered> {
  const { accountId, actor } = principal;
  const { id: conversationId, audience } = await placeOf(options, principal, body.conversation_id);
  const message: NewMessage = {
    ...TEXT_ALONE,
    id: newId('message'),
    account_id: accountId,
    conversation_id: conversationId,
    kind: 'alert',
    visibility: 'internal',
    body: body.body ? `${body.title}\n\n${body.body}` : body.title,
    sender_id: actor.id,
    author_id: actor.id,
  };
  const { row, followed } = await options.lockedWrites.enter(
    conversationId,
    async (_tx, conversation) => {
      requireActive(conversation);
      return { message, sender: actor, audience, trace };
    },
    async (tx, written) => {
      if (body.priority !== undefined) {
        await tx.query(WRITE_PRIORITY, written.row.id, conversationId, body.priority);
      }
      return answer(written.row, tx);
    },
  );
  return followed ?? answer(row);
}

// The notifications, which get the priority, are created after the commit.
const WRITE_PRIORITY = statement<[id: string, conversationId: string, priority: string]>('write-priority')`
    UPDATE messages SET priority = $3 WHERE id = $1 AND conversation_id = $2`;

/** Returns the place; alerts to admins require no membership. */
async function placeOf(
  { database, directory }: MessageRoutesOptions,
  principal: Principal,
  conversationId: string | undefined,
): Promise<Pick<ConversationFacts, 'id' | 'audience'>> {
  if (conversationId === undefined) {
    return database.transaction((tx) => systemConversation(tx, principal.accountId));
  }
  const facts = await readableConversation(directory, principal, conversationId, 'conversation_id');
  requireSender(principal, facts);
  return facts;
}
