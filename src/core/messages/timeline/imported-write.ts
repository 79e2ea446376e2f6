import { createHash } from 'node:crypto';
import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { isUniqueViolation } from '../../../platform/db/connection/unavailable.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import { audit } from '../../audit/audit.ts';
import { conversationGone, conversationNotFound } from '../../conversations/directory/access.ts';
import { readPersonaId } from '../../conversations/directory/persona.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { MESSAGES_IMPORTED } from '../outbox-topics.ts';
import type { ImportBatch, ImportedMessage, WrittenImport } from './imported-message.ts';
import {
  areOpen,
  insertImported,
  type KnownMessage,
  type NumberedImport,
  readActorKinds,
  readKnown,
  readSentIds,
} from './imported-store.ts';
import { type LockedWrites, NumberTaken } from './locked-write.ts';

/**
 * Maximum number of messages per transaction: less than the window behind which numbers count as
 * settled (timeline-store.ts), so that concurrent sends do not settle its numbers first.
 */
export const IMPORTED_AT_ONCE = 900;

export interface ImportOptions<Followed> {
  /**
   * Writes what must commit together with the last messages, such as the stored answer of an
   * Idempotency-Key. May be called again.
   */
  readonly follow?: (tx: Tx, written: readonly WrittenImport[]) => Promise<Followed>;
  /** Called between two transactions: a rest, or the end of the work by a rejection. */
  readonly between?: () => Promise<void>;
}

export interface Imported<Followed> {
  /** In the order of the batch. */
  readonly written: readonly WrittenImport[];
  readonly followed: Followed | undefined;
}

/**
 * Writes messages of another system behind the last message of a conversation, with their original
 * times and authors (docs/contract.md#imported-messages). They get the next numbers in their order;
 * messages that are sent meanwhile may stand between them. Their only effect is what readers are
 * shown.
 */
export class ImportedWrites {
  readonly #lockedWrites: LockedWrites;

  constructor(lockedWrites: LockedWrites) {
    this.#lockedWrites = lockedWrites;
  }

  /**
   * Resolves once all messages are committed, IMPORTED_AT_ONCE in a transaction. A batch that was
   * cut off can be written again: what exists is found by its client_message_id and left as it is.
   * Throws ApiError: `resource_not_found` (the conversation, an actor, a message that is replied
   * to), `resource_gone` (the conversation was deleted), `resource_conflict` (it is under legal
   * hold, or a client_message_id is that of a message that waits), `service_unavailable`.
   */
  async write<Followed = undefined>(
    batch: ImportBatch,
    { follow, between }: ImportOptions<Followed> = {},
  ): Promise<Imported<Followed>> {
    const { messages } = batch;
    const written: WrittenImport[] = [];
    let followed: Followed | undefined;
    for (let start = 0; start === 0 || start < messages.length; start += IMPORTED_AT_ONCE) {
      if (start > 0) await between?.();
      const some = messages.slice(start, start + IMPORTED_AT_ONCE);
      const isLast = start + IMPORTED_AT_ONCE >= messages.length;
      let attempts = 0;
      const part = await this.#lockedWrites.numbered(batch.conversationId, async (tx, conversation, take) => {
        const isAgain = attempts++ > 0;
        const turn = { start, conversation, take, isAgain };
        const results = await writeSome(tx, { ...batch, messages: some }, turn);
        const end = isLast ? await follow?.(tx, [...written, ...results]) : undefined;
        return { results, end };
      });
      written.push(...part.results);
      followed = part.end;
    }
    return { written, followed };
  }
}

interface Turn {
  /** The place of the first message in its batch. */
  readonly start: number;
  /** The locked conversation. */
  readonly conversation: ConversationRow;
  readonly take: (count: number) => Promise<number>;
  /** Whether an earlier attempt has met a taken key. */
  readonly isAgain: boolean;
}

async function writeSome(
  tx: Tx,
  batch: ImportBatch,
  { start, conversation, take, isAgain }: Turn,
): Promise<WrittenImport[]> {
  const { accountId, conversationId, messages } = batch;
  requireImportable(conversation, accountId);
  const actors = await requireActors(tx, batch, start);
  const isNew = !isAgain && messages.length > ALL_LOOKED_UP && (await areNew(tx, batch));
  const known = await knownOf(tx, batch, { start, isNew });
  const fresh = await freshOf(tx, batch, known, { start, actors, conversation });
  if (fresh.length > 0) {
    const first = await take(fresh.length);
    const rows = fresh.map((row, index): NumberedImport => ({ ...row, sequence: first + index }));
    for (const { client_message_id, id, sequence } of rows)
      known.set(client_message_id, { id, sequence, isNew: true });
    try {
      await insertImported(tx, batch, rows);
    } catch (error) {
      // The conflict is with a number, or with a message sent meanwhile: the next attempt finds it.
      if (isUniqueViolation(error)) throw new NumberTaken();
      throw error;
    }
    await follows(tx, batch, rows);
    // Sends may have gone far ahead meanwhile.
    if (!(await areOpen(tx, conversationId, first))) throw new NumberTaken();
  }
  const seen = new Set<string>();
  return messages.map(({ client_message_id }) => {
    const { id, sequence, isNew } = known.get(client_message_id)!;
    const existed = !isNew || seen.has(client_message_id);
    seen.add(client_message_id);
    return { id, sequence, existed };
  });
}

/** Throws if history is refused; archived and blocked conversations refuse only new messages. */
function requireImportable(conversation: ConversationRow, accountId: string): void {
  if (conversation.account_id !== accountId) throw conversationNotFound();
  if (conversation.deleted_at !== null) throw conversationGone();
  if (conversation.legal_hold === 'held') {
    const message = 'The conversation is under legal hold. Nothing can be imported until it is released.';
    throw new ApiError('resource_conflict', message);
  }
}

/** Returns the actors that the messages name, all of which must be of the account. */
async function requireActors(
  tx: Tx,
  { accountId, messages }: ImportBatch,
  start: number,
): Promise<ActorKinds> {
  const named = new Set(messages.flatMap((message) => actorsOf(message).map(({ id }) => id)));
  const known = await readActorKinds(tx, accountId, [...named]);
  if (known.size === named.size) return known;
  for (const [index, message] of messages.entries()) {
    const missing = actorsOf(message).find(({ id }) => !known.has(id));
    if (missing !== undefined) throw notFound('actor', `messages[${start + index}].${missing.param}`);
  }
  return known;
}

function actorsOf({ author_id, mentions, reactions, pin }: ImportedMessage) {
  const actors = mentions.map((id, index) => ({ id, param: `mentions[${index}]` }));
  if (author_id !== null) actors.unshift({ id: author_id, param: 'author_id' });
  for (const [index, { actor_id: id }] of reactions.entries()) {
    actors.push({ id, param: `reactions[${index}].actor_id` });
  }
  if (pin !== null) actors.push({ id: pin.by, param: 'pinned_by' });
  return actors;
}

type ActorKinds = Awaited<ReturnType<typeof readActorKinds>>;

interface Known {
  readonly id: string;
  readonly sequence: number;
  readonly isNew: boolean;
}

/** Looking up more messages takes a tenth of the time of writing them. */
const ALL_LOOKED_UP = 500;

/**
 * Returns whether neither the first nor the last message exists. No message then exists as a rule,
 * because an import that was cut off has written the first ones; the unique keys decide.
 */
async function areNew(tx: Tx, { conversationId, messages }: ImportBatch): Promise<boolean> {
  return (await readKnown(tx, conversationId, [messages[0]!, messages.at(-1)!])).length === 0;
}

/**
 * Returns by key the existing messages of the batch, unless all are new, and the existing messages
 * that it replies to.
 */
async function knownOf(
  tx: Tx,
  { conversationId, messages }: ImportBatch,
  { start, isNew }: { readonly start: number; readonly isNew: boolean },
): Promise<Map<string, Known>> {
  const keys = new Map(messages.map((message) => [message.client_message_id, message.author_id]));
  const replied = messages.flatMap(({ reply_to }) =>
    reply_to === null || keys.has(reply_to) ? [] : reply_to,
  );
  if (isNew) keys.clear();
  for (const key of replied) keys.set(key, null);
  if (keys.size === 0) return new Map();
  const asked = [...keys].map(([client_message_id, author_id]) => ({ client_message_id, author_id }));
  const found = await readKnown(tx, conversationId, asked);
  for (const one of found) if (one.sequence === null) throw waits(one, messages, start);
  return new Map(
    found.map(({ client_message_id, id, sequence }) => [
      client_message_id,
      { id, sequence: sequence!, isNew: false },
    ]),
  );
}

function waits({ client_message_id }: KnownMessage, messages: readonly ImportedMessage[], start: number) {
  const index = messages.findIndex((message) => message.client_message_id === client_message_id);
  const message = 'The author has a message with this client_message_id that has not been sent.';
  const param = `messages[${start + index}].client_message_id`;
  return new ApiError('resource_conflict', message, { param });
}

type Fresh = Omit<NumberedImport, 'sequence'>;

/** Returns the messages to write: those that do not exist yet, and tombstones for their roots. */
async function freshOf(
  tx: Tx,
  batch: ImportBatch,
  known: ReadonlyMap<string, Pick<Known, 'id'>>,
  { start, actors, conversation }: Pick<Turn, 'start' | 'conversation'> & { readonly actors: ActorKinds },
): Promise<Fresh[]> {
  const { conversationId, messages, missingRoots = 'tombstone' } = batch;
  await requireReplied(tx, conversationId, messages, start);
  const isShown = conversation.audience === 'customer' && messages.some(isExternal);
  const personaId = isShown ? await readPersonaId(tx, conversationId) : null;
  const ids = new Map([...known].map(([key, { id }]) => [key, id]));
  const news = new Map<string, ImportedMessage>();
  for (const message of messages) {
    const { client_message_id: key } = message;
    if (ids.has(key)) continue;
    ids.set(key, newId('message'));
    news.set(key, message);
  }
  const fresh: Fresh[] = [];
  for (const [key, message] of news) {
    const { reply_to, reply_to_id, reactions, ...row } = message;
    if (reply_to !== null && !ids.has(reply_to)) {
      if (missingRoots === 'refused') {
        const param = `messages[${start + messages.indexOf(message)}].reply_to_client_message_id`;
        throw notFound('message', param);
      }
      const id = newId('message');
      ids.set(reply_to, id);
      fresh.push({ ...tombstoneFor(message, reply_to), id });
    }
    const author = row.author_id === null ? undefined : actors.get(row.author_id);
    const isOfCustomer = author?.customer === true && conversation.audience === 'customer';
    const visibility = isOfCustomer && row.visibility === 'internal' ? 'external' : row.visibility;
    const isOfTeam = isExternal({ visibility }) && author?.customer === false;
    fresh.push({
      ...row,
      id: ids.get(key)!,
      kind: row.kind === 'chat' && author?.type === 'agent' ? 'agent' : row.kind,
      visibility,
      sender_id: (isOfTeam ? personaId : null) ?? row.author_id,
      body: row.body === null ? null : storable(row.body),
      reply_to_id: reply_to === null ? reply_to_id : ids.get(reply_to)!,
      reactions: reactions.map(({ emoji, actor_id, created_at }) => ({
        emoji,
        actor_id,
        customer: actors.get(actor_id)?.customer === true,
        created_at: created_at ?? row.created_at,
      })),
    });
  }
  return fresh;
}

function isExternal({ visibility }: Pick<ImportedMessage, 'visibility'>): boolean {
  return visibility === 'external';
}

async function requireReplied(
  tx: Tx,
  conversationId: string,
  messages: readonly ImportedMessage[],
  start: number,
): Promise<void> {
  const ids = new Set(messages.flatMap(({ reply_to_id }) => reply_to_id ?? []));
  if (ids.size === 0) return;
  const sent = await readSentIds(tx, conversationId, [...ids]);
  const index = messages.findIndex(({ reply_to_id }) => reply_to_id !== null && !sent.has(reply_to_id));
  if (index >= 0) throw notFound('message', `messages[${start + index}].reply_to_message_id`);
}

function tombstoneFor(
  { created_at, visibility }: ImportedMessage,
  client_message_id: string,
): Omit<Fresh, 'id'> {
  return {
    client_message_id,
    visibility,
    created_at,
    kind: 'chat',
    author_id: null,
    sender_id: null,
    body: null,
    mentions: [],
    edited_at: null,
    deleted_at: created_at,
    reply_to_id: null,
    attachments: [],
    reactions: [],
    pin: null,
  };
}

/** Returns the text without characters that Postgres cannot store. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

async function follows(tx: Tx, batch: ImportBatch, rows: readonly NumberedImport[]): Promise<void> {
  const { accountId, conversationId, importId, by, messages } = batch;
  const through = rows.at(-1)!.sequence;
  await enqueue(tx, MESSAGES_IMPORTED, { conversation_id: conversationId, through });
  await audit(tx, {
    accountId,
    conversationId,
    actorId: by,
    action: 'messages.imported',
    details: {
      import_id: importId,
      count: rows.length,
      first_sequence: rows[0]!.sequence,
      last_sequence: through,
      sha256: createHash('sha256').update(JSON.stringify(messages)).digest('hex'),
    },
  });
}
