import { ApiError, conversationArchived, invalid, missingField } from '@parley/protocol/errors/errors.ts';
import type { AttachmentKind } from '@parley/protocol/resources/attachment.ts';
import type { AttachmentInput, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import { hasPermission } from '../../../api/access/authorize.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { requireSender } from '../../conversations/directory/access.ts';
import { isBridged } from '../../conversations/directory/bridge.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import { requireOwnKeys } from '../../resources/metadata.ts';
import { goesToCustomer } from './destination.ts';
import { mentionedActor } from './mentions.ts';

/**
 * Makes the checks of Send Message that depend only on the body and the caller
 * (docs/contract.md#sending-a-message). Throws the first problem, in the order of the fields in the
 * published schema. `carries`: the message has content that the body does not name.
 */
export function checkBody(principal: Principal, body: SendMessageBody, carries = false): void {
  if (body.audience === 'customer' && body.mode !== 'draft') requireSendExternal(principal);
  if (principal.customer) checkCustomerSend(principal, body);
  if (!carries) checkContent(body);
  if (body.mode === 'draft') checkDraft(body);
  else checkImmediate(body);
  checkMail(body);
  checkLink(body);
  body.attachments?.forEach(checkAttachment);
}

/** Checks the caller's rights in the conversation, without a query. Throws ApiError. */
export function check(principal: Principal, facts: ConversationFacts, body: SendMessageBody): void {
  requireSender(principal, facts);
  if (body.mode === 'draft' && facts.audience !== 'customer') {
    throw invalid('mode', 'Only a conversation with the audience customer has drafts.');
  }
  if (facts.status === 'archived') throw conversationArchived();
  if (goesToCustomer(body) && facts.audience !== 'customer') {
    throw invalid('audience', 'Only a conversation with the audience customer has messages for customers.');
  }
  checkMail(body, facts);
  checkMentions(body.mentions ?? [], facts);
}

/**
 * Requires text and links of customers: they could not see resources of the account, and only the
 * team sends mail. Throws ApiError `validation_failed`.
 */
function checkCustomerSend(principal: Principal, body: SendMessageBody): void {
  for (const field of TEAM_FIELDS) {
    if (body[field] !== undefined) throw invalid(field, 'Customers cannot set this field.');
  }
  if (body.mode === 'draft') throw invalid('mode', 'Customers cannot write drafts.');
  if (body.channel === 'email') throw invalid('channel', 'Customers cannot choose the channel email.');
  const resource = body.attachments?.findIndex(({ kind }) => kind === 'resource') ?? -1;
  if (resource >= 0) throw invalid(`attachments[${resource}].kind`, 'Customers cannot attach resources.');
  requireOwnKeys(principal, body.metadata);
  for (const [index, { metadata }] of (body.attachments ?? []).entries()) {
    requireOwnKeys(principal, metadata, `attachments[${index}].metadata`);
  }
}

const TEAM_FIELDS = ['subject', 'cc', 'link_resource_type', 'link_resource_id', 'question'] as const;

/**
 * Requires that an agent may send to customers. Otherwise its replies are drafts for a person to
 * approve (docs/contract.md#sending-a-message).
 */
export function requireSendExternal(principal: Principal, to = 'answer customers without approval'): void {
  if (principal.actor.type !== 'agent' || hasPermission(principal, 'messaging:send_external')) return;
  throw new ApiError('insufficient_permissions', `An agent needs messaging:send_external to ${to}.`);
}

/** Requires a body, an attachment, a question or a link to a resource. "" counts as absent. */
function checkContent(body: SendMessageBody): void {
  const hasBody = body.body !== undefined && body.body !== '';
  const hasLink = body.link_resource_type !== undefined || body.link_resource_id !== undefined;
  const asks = body.question !== undefined;
  if (!hasBody && !hasLink && !asks && !body.attachments?.length) throw missingField('body');
}

function checkDraft(body: SendMessageBody): void {
  if (body.channel === undefined) throw missingField('channel');
  if (body.audience === 'internal') {
    throw invalid('audience', 'A draft is a reply to the customer: leave audience out, or send a note.');
  }
  if (body.scheduled_at !== undefined) {
    throw invalid('scheduled_at', 'A draft cannot be scheduled. It is sent when it is approved.');
  }
}

function checkImmediate(body: SendMessageBody): void {
  if (!body.client_message_id) throw missingField('client_message_id');
  if (body.source_thread_message_id !== undefined) {
    throw invalid('source_thread_message_id', 'Only a draft can name a thread message.');
  }
}

/**
 * Requires that mail is a reply to a customer through the inbox of its case, and that only mail has
 * these fields. Without `facts` the case counts as one with an inbox.
 */
function checkMail(body: SendMessageBody, facts?: ConversationFacts): void {
  const mayBeMail = goesToCustomer(body) && (facts === undefined || isBridged(facts));
  if (body.channel === 'email' && !mayBeMail) throw notMail('channel');
  const isMail = mayBeMail && body.channel !== 'message';
  if (body.subject && !isMail) throw notMail('subject');
  if (body.cc?.length && !isMail) throw notMail('cc');
}

export function notMail(param: 'channel' | 'subject' | 'cc'): ApiError {
  return invalid(param, 'This is for e-mail replies to the customer of a case that has an inbox.');
}

function checkLink(body: SendMessageBody): void {
  const { link_resource_type: type, link_resource_id: id } = body;
  if (type !== undefined && !id) throw missingField('link_resource_id');
  if (id !== undefined && type === undefined) throw missingField('link_resource_type');
}

/** The fields of each kind of attachment; others are refused (docs/contract.md#attachments). */
const UPLOADED = { required: ['s3_key'], optional: ['filename', 'content_type', 'size_bytes'] } as const;
const FIELDS_OF = {
  file: UPLOADED,
  image: UPLOADED,
  link: { required: ['url'], optional: [] },
  resource: { required: ['resource_type', 'resource_id'], optional: [] },
} as const satisfies Record<
  AttachmentKind,
  Record<'required' | 'optional', readonly (keyof AttachmentInput)[]>
>;

export function checkAttachment(attachment: AttachmentInput, index: number): void {
  const { required, optional } = FIELDS_OF[attachment.kind];
  for (const field of required) {
    if (!attachment[field]) throw missingField(`attachments[${index}].${field}`);
  }
  const known: readonly string[] = ['kind', 'metadata', ...required, ...optional];
  const foreign = Object.keys(attachment).find((field) => !known.includes(field));
  if (foreign !== undefined) {
    throw invalid(
      `attachments[${index}].${foreign}`,
      `An attachment of kind ${attachment.kind} has no such field.`,
    );
  }
  if (attachment.kind === 'link') requireWebAddress(attachment.url!, `attachments[${index}].url`);
}

/**
 * Requires a web address that needs no repair. Browsers open links, so `javascript:` and the like
 * are refused. The address is shown as it was sent, and browsers repair missing slashes or white
 * space, but other clients do not.
 */
function requireWebAddress(text: string, param: string): void {
  const url = URL.parse(text);
  if (url === null || (WEB_SCHEMES.has(url.protocol) && !UNMENDED.test(text))) {
    throw new ApiError('invalid_format', 'Must be an absolute URL, without white space.', { param });
  }
  if (!WEB_SCHEMES.has(url.protocol)) throw invalid(param, 'Must be an http or https URL.');
}

const WEB_SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:']);
const UNMENDED = /^https?:\/\/[^/?#][^\s\\\p{Cc}]*$/iu;

export function checkMentions(mentions: readonly string[], facts: ConversationFacts): void {
  for (const [index, id] of mentions.entries()) {
    const member = facts.members.get(mentionedActor(id, facts));
    if (member === undefined || member.deactivated) {
      throw invalid(`mentions[${index}]`, 'Only active participants of the conversation can be mentioned.');
    }
  }
}
