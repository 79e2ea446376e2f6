import { ApiError, notFound } from '../../../contract/protocol/errors.ts';
import { newId } from '../../../contract/protocol/ids.ts';
import type { Entity } from '../../../contract/protocol/resources/actor.ts';
import type { AttachmentInput, SendMessageBody } from '../../../contract/protocol/resources/chat-message.ts';
import type { Principal } from '../../../platform/access/principal.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { type ClaimedFile, claimUploads } from '../../attachments/claims.ts';
import type { ObjectStore } from '../../attachments/storage.ts';
import type { ConversationFacts } from '../../conversations/directory.ts';
import { type EntityRef, readEntities, refKey } from '../../resources/entity.ts';
import { visibleToCustomers } from '../../resources/message.ts';
import { readMessageOf } from '../store.ts';
import type { NewAttachment } from '../timeline/new-message.ts';
import type { Outgoing } from '../timeline/outgoing.ts';
import { allMentions } from './mentions.ts';
import { channelOf, checkSend, goesToCustomer } from './send-rules.ts';
import { uniqueAddresses } from './unique-addresses.ts';

/**
 * Builds a message from a body that has passed checkBody, after checking everything that it refers
 * to. `carried`: attachments instead of those that the body names. Throws ApiError.
 */
export async function compose(
  db: Db,
  store: ObjectStore,
  principal: Principal,
  facts: ConversationFacts,
  body: SendMessageBody,
  carried?: readonly NewAttachment[],
): Promise<Outgoing> {
  checkSend(body, facts);
  const resources = refersToOthers(body) ? await readReferences(db, principal, facts, body) : NONE;
  const linked = resourceOf(resources, body.link_resource_type, body.link_resource_id);
  const files = body.attachments?.length
    ? await claimUploads(db, store, principal, body.attachments)
    : undefined;
  const external = goesToCustomer(body);
  const sender = external && !principal.customer ? facts.persona : principal.actor;
  return {
    message: {
      id: newId('message'),
      account_id: facts.accountId,
      conversation_id: facts.id,
      kind: principal.actor.type === 'agent' ? 'agent' : 'chat',
      visibility: external ? 'external' : 'internal',
      channel: principal.customer ? 'message' : channelOf(body, facts),
      body: body.body || null,
      subject: body.subject || null,
      cc: body.cc === undefined ? null : uniqueAddresses(body.cc),
      mentions: allMentions(
        { listed: body.mentions ?? [], text: body.body, authorId: principal.actor.id },
        facts,
      ),
      sender_id: sender?.id ?? null,
      author_id: principal.actor.id,
      reply_to_id: body.reply_to_message_id ?? null,
      resource_type: linked?.type ?? null,
      resource_id: linked?.id ?? null,
      agent_run_id: null,
      streaming_state: null,
      client_message_id: body.mode === 'draft' ? null : (body.client_message_id ?? null),
      attachments:
        carried ??
        (body.attachments ?? []).map((input, index) =>
          newAttachment(input, index, files?.get(index), resources),
        ),
    },
    sender,
    audience: facts.audience,
    facts,
  };
}

function refersToOthers(body: SendMessageBody): boolean {
  return (
    body.source_thread_message_id !== undefined ||
    body.reply_to_message_id !== undefined ||
    body.link_resource_id !== undefined ||
    Boolean(body.attachments?.length)
  );
}

const NONE: ReadonlyMap<string, Entity> = new Map();

/**
 * Returns the resources that the body refers to, by refKey. All of them exist in this account, and
 * the messages among them in this conversation.
 */
async function readReferences(
  db: Db,
  principal: Principal,
  facts: ConversationFacts,
  body: SendMessageBody,
): Promise<ReadonlyMap<string, Entity>> {
  for (const param of ['source_thread_message_id', 'reply_to_message_id'] as const) {
    const id = body[param];
    if (id !== undefined) await checkMessage(db, principal, facts, id, param);
  }
  return readNamed(db, facts.accountId, namedResources(body));
}

async function readNamed(
  db: Db,
  accountId: string,
  named: readonly NamedResource[],
): Promise<ReadonlyMap<string, Entity>> {
  const found = await readEntities(
    db,
    accountId,
    named.map(({ ref }) => ref),
  );
  for (const { ref, param } of named) {
    if (!found.has(refKey(ref))) throw notFound('resource', param);
  }
  return found;
}

/** Requires that the message is sent, visible to the caller and not deleted. */
async function checkMessage(
  db: Db,
  principal: Principal,
  facts: ConversationFacts,
  id: string,
  param: string,
): Promise<void> {
  const original = await readMessageOf(db, facts.id, id);
  const visible =
    original?.status === 'sent' && (!principal.customer || visibleToCustomers(original, facts.audience));
  if (!visible) throw notFound('message', param);
  if (original.deleted_at !== null) {
    throw new ApiError('resource_gone', 'The message was deleted.', { param });
  }
}

/** Returns the body's references to resources of the account, each with its field. */
function namedResources(body: SendMessageBody): NamedResource[] {
  const named: NamedResource[] = [];
  if (body.link_resource_type !== undefined && body.link_resource_id !== undefined) {
    const ref = { type: body.link_resource_type, id: body.link_resource_id };
    named.push({ ref, param: 'link_resource_id' });
  }
  const { attachments = [] } = body;
  return [...named, ...namedAttachments(attachments, [...attachments.keys()])];
}

function namedAttachments(
  attachments: readonly AttachmentInput[],
  places: readonly number[],
): NamedResource[] {
  return attachments.flatMap(({ kind, resource_type: type, resource_id: id }, index) =>
    kind === 'resource'
      ? { ref: { type: type!, id: id! }, param: `attachments[${places[index]}].resource_id` }
      : [],
  );
}

interface NamedResource {
  readonly ref: EntityRef;
  readonly param: string;
}

/** Returns one of the resources that readReferences found. */
function resourceOf(
  resources: ReadonlyMap<string, Entity>,
  type: EntityRef['type'] | undefined,
  id: string | undefined,
): Entity | undefined {
  return type === undefined || id === undefined ? undefined : resources.get(refKey({ type, id }));
}

/**
 * Returns new attachments of a message that exists, after checking what they refer to. `places`:
 * where each stands in the request. Throws ApiError as `compose` does.
 */
export async function composeAttachments(
  db: Db,
  store: ObjectStore,
  principal: Principal,
  inputs: readonly AttachmentInput[],
  places: readonly number[],
): Promise<NewAttachment[]> {
  const resources = await readNamed(db, principal.accountId, namedAttachments(inputs, places));
  const files = await claimUploads(db, store, principal, inputs, places);
  return inputs.map((input, index) => newAttachment(input, index, files.get(index), resources));
}

function newAttachment(
  input: AttachmentInput,
  position: number,
  file: ClaimedFile | undefined,
  resources: ReadonlyMap<string, Entity>,
): NewAttachment {
  const isResource = input.kind === 'resource';
  const resource = isResource ? resourceOf(resources, input.resource_type, input.resource_id) : undefined;
  return {
    id: newId('attachment'),
    position,
    kind: input.kind,
    s3_key: file?.s3_key ?? null,
    filename: file?.filename ?? null,
    content_type: file?.content_type ?? null,
    size_bytes: file?.size_bytes ?? null,
    url: input.kind === 'link' ? input.url! : null,
    resource_type: resource?.type ?? null,
    resource_id: resource?.id ?? null,
    ...(file !== undefined && { download_url: file.download_url }),
    ...(resource !== undefined && { resource }),
  };
}
