import type { MessageRecord } from '@parley/archives/record.ts';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { NewAttachment } from '../../../core/messages/rows/new-message.ts';
import type { ImportedMessage } from '../../../core/messages/timeline/imported-message.ts';
import type { ImportedWrites } from '../../../core/messages/timeline/imported-write.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { ImportRow } from '../imports/import-store.ts';
import type { ImportedFiles } from './files.ts';
import type { Numbered } from './people.ts';
import type { Refs } from './refs.ts';
import type { Reason, Tally } from './tally.ts';

interface MessagesOptions {
  readonly db: Db;
  readonly row: ImportRow;
  readonly refs: Refs;
  readonly tally: Tally;
  readonly files: ImportedFiles;
  readonly writes: ImportedWrites;
  /** Rests between two transactions. */
  readonly between: () => Promise<void>;
}

/** A message with its planned row. */
interface Planned extends Numbered<MessageRecord> {
  readonly message: ImportedMessage;
  /** Number of reactions that coincide, because two people of the archive are one person here. */
  readonly merged: number;
}

/** Writes messages of an archive, with their parts, into the timelines of their conversations. */
export class ArchivedMessages {
  readonly #options: MessagesOptions;

  constructor(options: MessagesOptions) {
    this.#options = options;
  }

  /** Writes messages in the order of each conversation, and counts the outcomes. */
  async write(messages: readonly Numbered<MessageRecord>[]): Promise<void> {
    const { db, refs } = this.#options;
    const conversations = Map.groupBy(messages, ({ record }) => record.conversation);
    const found = await refs.find(db, 'conversation', conversations.keys());
    const people = await refs.find(db, 'person', new Set(messages.flatMap(({ record }) => peopleOf(record))));
    const ids = new Map([...people].map(([ref, { id }]) => [ref, id]));
    for (const [ref, ofOne] of conversations) {
      const conversation = found.get(ref);
      if (conversation === undefined) this.#skip(ofOne, NO_CONVERSATION);
      else await this.#writeOf(conversation.id, ofOne, ids);
    }
  }

  async #writeOf(
    conversationId: string,
    messages: readonly Numbered<MessageRecord>[],
    people: ReadonlyMap<string, string>,
  ): Promise<void> {
    const { db, tally } = this.#options;
    const withFiles = messages.filter(({ record }) => record.files.length > 0);
    const refusal = withFiles.length === 0 ? undefined : await refusalOf(db, conversationId);
    if (refusal !== undefined) return this.#skip(messages, refusal);
    const there =
      withFiles.length === 0
        ? new Set<string>()
        : await readThere(
            db,
            conversationId,
            withFiles.map(({ record }) => record.client_message_id),
          );
    let planned: Planned[] = [];
    for (const one of messages) {
      const authorId = people.get(one.record.author);
      if (authorId === undefined) this.#skip([one], NO_AUTHOR);
      else planned.push(await this.#plan(one, authorId, people, there.has(one.record.client_message_id)));
    }
    // Each round leaves out the refused message.
    while (planned.length > 0) {
      try {
        const written = await this.#send(conversationId, planned);
        for (const [index, { existed }] of written.entries()) count(tally, planned[index]!, existed);
        return;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const index = /^messages\[(\d+)\]/.exec(error.param ?? '')?.[1];
        if (index !== undefined) {
          const refused = planned[Number(index)]!;
          this.#skip([refused], { reason: error.condition, detail: error.message });
          planned = planned.filter((one) => one !== refused);
          continue;
        }
        const reason = REFUSALS[error.condition];
        if (reason === undefined) throw error;
        return this.#skip(planned, { reason, detail: error.message });
      }
    }
  }

  async #send(conversationId: string, planned: readonly Planned[]) {
    const { row, writes, between } = this.#options;
    const messages = planned.map(({ message }) => message);
    const batch = {
      accountId: row.account_id,
      conversationId,
      importId: row.id,
      by: row.created_by,
      messages,
    };
    return (await writes.write(batch, { between })).written;
  }

  async #plan(
    { record, number }: Numbered<MessageRecord>,
    authorId: string,
    people: ReadonlyMap<string, string>,
    isThere: boolean,
  ): Promise<Planned> {
    const { created_at, pin } = record;
    const isTombstone = record.deleted_at !== null;
    const reactions = new Map<string, ImportedMessage['reactions'][number]>();
    for (const { emoji, person, created_at } of record.reactions) {
      const actor_id = people.get(person);
      const key = `${emoji} ${actor_id}`;
      if (actor_id !== undefined && !reactions.has(key)) reactions.set(key, { emoji, actor_id, created_at });
    }
    const attachments = await this.#attachments({ record, number }, authorId, isThere);
    const author_id = record.system ? null : authorId;
    return {
      record,
      number,
      merged: record.reactions.length - reactions.size,
      message: {
        client_message_id: record.client_message_id,
        kind: record.system ? 'system_event' : 'chat',
        visibility: record.audience === 'internal' ? 'internal' : record.system ? 'system' : 'external',
        body: record.body,
        author_id,
        created_at,
        edited_at: record.edited_at,
        deleted_at: record.deleted_at,
        reply_to: record.reply_to,
        reply_to_id: null,
        incomplete: record.incomplete ?? null,
        mentions: [...new Set(record.mentions.flatMap((person) => people.get(person) ?? []))],
        attachments: isTombstone ? [] : attachments,
        reactions: isTombstone ? [] : [...reactions.values()],
        pin:
          pin === null || isTombstone
            ? null
            : {
                by: (pin.by === null ? undefined : people.get(pin.by)) ?? authorId,
                at: pin.at ?? created_at,
              },
      },
    };
  }

  /** Stores the files of a new message, or counts the files of an existing message. */
  async #attachments(
    { record, number }: Numbered<MessageRecord>,
    authorId: string,
    isThere: boolean,
  ): Promise<NewAttachment[]> {
    const { files, tally } = this.#options;
    const { client_message_id, where: place } = record;
    const owner = { client_message_id, authorId };
    if (isThere) {
      const known = await files.known(owner, record.files);
      for (const { id, name } of record.files) {
        if (known.has(id)) tally.add('files', 'existed');
        else {
          const detail = `The message is there without the file "${name}" (${id}).`;
          tally.skip('files', number, { reason: 'message_exists', detail, place });
        }
      }
      return [];
    }
    const attachments: NewAttachment[] = [];
    for (const file of record.files) {
      const stored = await files.store(owner, file, attachments.length);
      if ('reason' in stored) tally.skip('files', number, { ...stored, place });
      else attachments.push(stored);
    }
    return attachments;
  }

  /** Skips messages with all their parts, for one reason. */
  #skip(messages: readonly (Numbered<MessageRecord> | Planned)[], why: Omit<Reason, 'place'>): void {
    const { tally } = this.#options;
    const [first] = messages;
    if (first === undefined) return;
    const reason = { ...why, place: first.record.where };
    const sum = (of: (one: MessageRecord) => number) =>
      messages.reduce((total, { record }) => total + of(record), 0);
    tally.skip(
      'messages',
      first.number,
      reason,
      sum(({ counted }) => (counted ? 1 : 0)),
    );
    tally.skip(
      'reactions',
      first.number,
      reason,
      sum(({ reactions }) => reactions.length),
    );
    tally.skip(
      'pins',
      first.number,
      reason,
      sum(({ pin }) => (pin === null ? 0 : 1)),
    );
    // The files of planned messages are already stored or skipped, and count as such.
    const files = messages.reduce(
      (total, one) => total + ('message' in one ? one.message.attachments.length : one.record.files.length),
      0,
    );
    tally.skip('files', first.number, reason, files);
  }
}

/** Counts a written or existing message with its parts. */
function count(tally: Tally, { record, message, merged, number }: Planned, existed: boolean): void {
  const outcome = existed ? 'existed' : 'imported';
  if (record.counted) tally.add('messages', outcome);
  tally.add('reactions', outcome, message.reactions.length);
  tally.add('files', outcome, message.attachments.length);
  if (message.pin !== null) tally.add('pins', outcome);
  const place = record.where;
  if (message.deleted_at !== null) {
    const reason = { reason: 'message_deleted', detail: 'The message was deleted there.', place };
    tally.skip('reactions', number, reason, record.reactions.length);
    if (record.pin !== null) tally.skip('pins', number, reason);
    return;
  }
  const detail = 'Several people of the archive are one person here, or one is unknown.';
  tally.skip('reactions', number, { reason: 'same_person', detail, place }, merged);
}

const NO_CONVERSATION = {
  reason: 'conversation_skipped',
  detail: 'The conversation of these messages was not imported.',
};
const NO_AUTHOR = { reason: 'unknown_author', detail: 'The archive does not say who wrote the message.' };

/** Why a conversation takes no messages, by the condition of the refusal. */
const REFUSALS: Readonly<Record<string, string | undefined>> = {
  resource_conflict: 'legal_hold',
  resource_gone: 'conversation_deleted',
  resource_not_found: 'conversation_deleted',
};

function peopleOf({ author, mentions, reactions, pin }: MessageRecord): string[] {
  return [author, ...mentions, ...reactions.map(({ person }) => person), ...(pin?.by ? [pin.by] : [])];
}

/** Returns a refusal before files are stored; the writer decides. */
async function refusalOf(db: Db, conversationId: string): Promise<Omit<Reason, 'place'> | undefined> {
  const [state] = await db.query(READ_STATE, conversationId);
  if (state === undefined || state.is_deleted) {
    return { reason: 'conversation_deleted', detail: 'The conversation was deleted here.' };
  }
  return state.is_held
    ? { reason: 'legal_hold', detail: 'The conversation is under legal hold.' }
    : undefined;
}

/** Returns the keys of the messages that an import has written. */
async function readThere(db: Db, conversationId: string, keys: readonly string[]): Promise<Set<string>> {
  const rows = await db.query(READ_THERE, conversationId, keys);
  return new Set(rows.map(({ client_message_id }) => client_message_id));
}

const READ_STATE = statement<[conversationId: string], { is_deleted: boolean; is_held: boolean }>(
  'read-refusal-of-import',
)`
    SELECT deleted_at IS NOT NULL AS is_deleted, legal_hold IS NOT DISTINCT FROM 'held' AS is_held
    FROM conversations WHERE id = $1`;

const READ_THERE = statement<
  [conversationId: string, keys: readonly string[]],
  { client_message_id: string }
>('read-imported-messages-there')`
    SELECT client_message_id FROM messages
    WHERE conversation_id = $1 AND client_message_id = ANY($2) AND imported IS NOT NULL`;
