import type { Principal } from '../access/principal.ts';
import { type EntityRef, readEntities, refKey } from '../accounts/entities.ts';
import { readableConversation, requireSender } from '../conversations/access.ts';
import type { ConversationDirectory, ConversationFacts } from '../conversations/directory.ts';
import { expandMessages } from '../conversations/message-expand.ts';
import { visibleToCustomers } from '../conversations/message-present.ts';
import { type MessageRow, messageColumns } from '../conversations/message-rows.ts';
import type { Database } from '../db/database.ts';
import type { Actor } from '../protocol/actor.ts';
import type { ChatMessage, SEND_MESSAGE_INCLUDES, SendMessageBody } from '../protocol/chat-message.ts';
import { ApiError } from '../protocol/errors.ts';
import { newId } from '../protocol/ids.ts';
import { type NewAttachment, type NewMessage, READ_BY_CLIENT_ID } from './insert-messages.ts';
import { checkCustomerSend, checkSend, requireApprovedSender } from './rules.ts';
import type { WritePath } from './write-path.ts';

export type SendInclude = (typeof SEND_MESSAGE_INCLUDES)[number];

/** Send Message (specification, endpoint 1), mode `send`: from a validated body to the committed resource. */
export class Sender {
  readonly #database: Database;
  readonly #directory: ConversationDirectory;
  readonly #writePath: WritePath;

  constructor(database: Database, directory: ConversationDirectory, writePath: WritePath) {
    this.#database = database;
    this.#directory = directory;
    this.#writePath = writePath;
  }

  /**
   * Resolves when the message is committed; a resend with the same client_message_id resolves with the
   * original, whatever else it contains. Throws ApiError.
   */
  async send(
    principal: Principal,
    conversationId: string,
    body: SendMessageBody,
    include: readonly SendInclude[],
  ): Promise<ChatMessage> {
    const facts = await readableConversation(this.#directory, principal, conversationId);
    requireSender(principal, facts);
    const asked = principal.customer ? ({ ...body, audience: 'customer' } as const) : body;
    requireApprovedSender(principal, asked);
    const row = await this.#append(principal, facts, asked);
    const shown = await expandMessages(this.#database, principal, [row], include);
    return shown.get(row)!;
  }

  async #append(principal: Principal, facts: ConversationFacts, body: SendMessageBody): Promise<MessageRow> {
    try {
      if (principal.customer) checkCustomerSend(body);
      checkSend(body, facts);
      if (refersToOthers(body)) await this.#checkReferences(principal, facts, body);
    } catch (refusal) {
      // A resend may come after what it names has gone: the original stands, and is the answer.
      const original = await this.#findOriginal(principal, facts, body);
      if (original === undefined) throw refusal;
      return original;
    }
    const sender = body.audience === 'customer' && !principal.customer ? facts.persona : principal.actor;
    const { row } = await this.#writePath.append({
      message: newMessage(principal, facts, body, sender),
      sender,
      audience: facts.audience,
    });
    return row;
  }

  /** What the author has sent here under the same client_message_id; drafts have none (specification, endpoint 1). */
  async #findOriginal(
    principal: Principal,
    facts: ConversationFacts,
    { mode, client_message_id }: SendMessageBody,
  ): Promise<MessageRow | undefined> {
    if (mode === 'draft' || !client_message_id) return undefined;
    const key = { conversation_id: facts.id, author_id: principal.actor.id, client_message_id };
    const [original] = await this.#database.query<MessageRow>(READ_BY_CLIENT_ID, [JSON.stringify([key])]);
    return original;
  }

  /** Everything that the body names exists in this account, and the message replied to in this conversation. */
  async #checkReferences(
    principal: Principal,
    facts: ConversationFacts,
    body: SendMessageBody,
  ): Promise<void> {
    if (body.reply_to_message_id !== undefined) {
      await this.#checkReplyTo(principal, facts, body.reply_to_message_id);
    }
    const named = namedResources(body);
    const found = await readEntities(
      this.#database,
      facts.accountId,
      named.map(({ ref }) => ref),
    );
    for (const { ref, param } of named) {
      if (!found.has(refKey(ref))) throw notFound(param);
    }
    const upload = body.attachments?.findIndex(({ kind }) => kind === 'file' || kind === 'image') ?? -1;
    if (upload >= 0) throw notFound(`attachments[${upload}].s3_key`);
  }

  async #checkReplyTo(principal: Principal, facts: ConversationFacts, messageId: string): Promise<void> {
    const [original] = await this.#database.query<MessageRow>(READ_MESSAGE, [messageId, facts.id]);
    const visible =
      original?.status === 'sent' && (!principal.customer || visibleToCustomers(original, facts.audience));
    if (!visible) throw notFound('reply_to_message_id');
    if (original.deleted_at !== null) {
      throw new ApiError('resource_gone', 'the message replied to is deleted', {
        param: 'reply_to_message_id',
      });
    }
  }
}

function refersToOthers(body: SendMessageBody): boolean {
  return (
    body.reply_to_message_id !== undefined ||
    body.link_resource_id !== undefined ||
    Boolean(body.attachments?.length)
  );
}

/** What the body points to among the account's resources, and the field that does. */
function namedResources(body: SendMessageBody): { ref: EntityRef; param: string }[] {
  const named: { ref: EntityRef; param: string }[] = [];
  if (body.link_resource_type !== undefined && body.link_resource_id !== undefined) {
    const ref = { type: body.link_resource_type, id: body.link_resource_id };
    named.push({ ref, param: 'link_resource_id' });
  }
  for (const [index, attachment] of (body.attachments ?? []).entries()) {
    if (attachment.kind !== 'resource') continue;
    const ref = { type: attachment.resource_type!, id: attachment.resource_id! };
    named.push({ ref, param: `attachments[${index}].resource_id` });
  }
  return named;
}

function newMessage(
  principal: Principal,
  facts: ConversationFacts,
  body: SendMessageBody,
  sender: Actor | null,
): NewMessage {
  return {
    id: newId('message'),
    account_id: facts.accountId,
    conversation_id: facts.id,
    kind: principal.actor.type === 'agent' ? 'agent' : 'chat',
    visibility: body.audience === 'customer' ? 'external' : 'internal',
    channel: 'message',
    body: body.body || null,
    subject: body.subject ?? null,
    cc: body.cc ?? null,
    mentions: body.mentions?.length ? [...new Set(body.mentions)] : null,
    sender_id: sender?.id ?? null,
    author_id: principal.actor.id,
    reply_to_id: body.reply_to_message_id ?? null,
    resource_type: body.link_resource_type ?? null,
    resource_id: body.link_resource_id ?? null,
    streaming_state: null,
    client_message_id: body.client_message_id ?? null,
    attachments: (body.attachments ?? []).map(newAttachment),
  };
}

type AttachmentInput = NonNullable<SendMessageBody['attachments']>[number];

function newAttachment(input: AttachmentInput, position: number): NewAttachment {
  const isLink = input.kind === 'link';
  return {
    id: newId('attachment'),
    position,
    kind: input.kind,
    s3_key: null,
    filename: null,
    content_type: null,
    size_bytes: null,
    url: isLink ? input.url! : null,
    resource_type: isLink ? null : input.resource_type!,
    resource_id: isLink ? null : input.resource_id!,
  };
}

function notFound(param: string): ApiError {
  return new ApiError('resource_not_found', `no such resource: ${param}`, { param });
}

const READ_MESSAGE = {
  name: 'read-message',
  text: `SELECT ${messageColumns('m')} FROM messages m WHERE m.id = $1 AND m.conversation_id = $2`,
};
