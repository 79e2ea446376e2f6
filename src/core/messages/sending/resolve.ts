import { notFound } from '@parley/protocol/errors/errors.ts';
import type { Entity } from '@parley/protocol/resources/actor.ts';
import type { AttachmentInput, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { type ClaimedFile, claimUploads } from '../../attachments/claims.ts';
import type { ObjectStore } from '../../attachments/storage.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import { type EntityRef, readEntities, refKey, refOf } from '../../resources/entity.ts';
import { acquainted } from '../../resources/known-users.ts';
import { type MessageRow, messageColumns, visibleToCustomers } from '../../resources/message.ts';
import { requireThere } from '../rules/edit-rules.ts';

/** The resources and files to which the body of a message refers. */
export interface Resolved {
  /** Keyed by refKey. */
  readonly resources: ReadonlyMap<string, Entity>;
  /** Keyed by index among the attachments. */
  readonly files: ReadonlyMap<number, ClaimedFile>;
}

const NOTHING: Resolved = { resources: new Map(), files: new Map() };

/**
 * Returns the resources of the account and the uploads to which the body refers, and checks the
 * messages that it names. Synchronous if it refers to nothing. Throws ApiError.
 */
export function resolve(
  db: Db,
  store: ObjectStore,
  principal: Principal,
  facts: ConversationFacts,
  body: SendMessageBody,
): Resolved | Promise<Resolved> {
  const refersToOthers =
    body.source_thread_message_id !== undefined ||
    body.reply_to_message_id !== undefined ||
    body.link_resource_id !== undefined ||
    body.attachments?.length;
  return refersToOthers ? resolveAll(db, store, principal, facts, body) : NOTHING;
}

async function resolveAll(
  db: Db,
  store: ObjectStore,
  principal: Principal,
  facts: ConversationFacts,
  { link_resource_type: type, link_resource_id: id, attachments = [], ...body }: SendMessageBody,
): Promise<Resolved> {
  for (const param of ['source_thread_message_id', 'reply_to_message_id'] as const) {
    const messageId = body[param];
    if (messageId !== undefined) await checkMessage(db, principal, facts, messageId, param);
  }
  const ref = refOf(type, id);
  const link = ref === undefined ? [] : [{ ref, param: 'link_resource_id' }];
  return resolveAttachments(db, store, principal, attachments, undefined, link);
}

/**
 * Returns the resources and files of the attachments, and `others`. `places` are the indexes of the
 * attachments in the request, if they differ. Throws ApiError.
 */
export async function resolveAttachments(
  db: Db,
  store: ObjectStore,
  principal: Principal,
  inputs: readonly AttachmentInput[],
  places?: readonly number[],
  others: readonly { readonly ref: EntityRef; readonly param: string }[] = [],
): Promise<Resolved> {
  const named = inputs.flatMap(({ kind, resource_type: type, resource_id: id }, index) => {
    const param = `attachments[${places?.[index] ?? index}].resource_id`;
    return kind === 'resource' ? { ref: { type: type!, id: id! }, param } : [];
  });
  const all = [...others, ...named];
  const refs = all.map(({ ref }) => ref);
  const resources = await readEntities(db, principal.accountId, refs, acquainted(principal));
  for (const { ref, param } of all) {
    if (!resources.has(refKey(ref))) throw notFound('resource', param);
  }
  return { resources, files: await claimUploads(db, store, principal, inputs, places) };
}

/** Requires that the message is sent, visible to the caller and not deleted. */
async function checkMessage(
  db: Db,
  principal: Principal,
  facts: ConversationFacts,
  id: string,
  param: string,
): Promise<void> {
  const [original] = await db.query(READ_MESSAGE, id, facts.id);
  const visible =
    original?.status === 'sent' && (!principal.customer || visibleToCustomers(original, facts.audience));
  if (!visible) throw notFound('message', param);
  requireThere(original, param);
}

export function resourceOf(
  { resources }: Resolved,
  type: EntityRef['type'] | undefined,
  id: string | undefined,
): Entity | undefined {
  return resources.get(refKey(refOf(type, id)));
}

/** A message of this conversation in any state. */
const READ_MESSAGE = statement<[id: string, conversationId: string], MessageRow>('read-message')`
    SELECT ${messageColumns('m')} FROM messages m WHERE m.id = $1 AND m.conversation_id = $2`;
