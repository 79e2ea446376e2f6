import { toEmoji } from '@parley/protocol/emoji.ts';
import { INCOMPLETE_REASONS } from '@parley/protocol/resources/agent-run.ts';
import type { Container } from '../container/container.ts';
import { linesOf, parse, readDocument } from '../content/documents.ts';
import { fileName } from '../content/file-name.ts';
import { emailOf, givePeople, type ListedPerson } from '../content/people.ts';
import { rfcMicros, wireTime, wireTimeOrNull } from '../content/times.ts';
import { contentType, type Fields, fields, idOf, list, text, whole } from '../content/values.ts';
import { nameOf, type Walk } from '../content/walk.ts';
import { type ArchiveLimits, UnreadableArchive } from '../reader.ts';
import type { ArchivedFile, ArchivedReaction, ArchiveRecord, ConversationRecord } from '../record.ts';

interface ParleyOptions {
  readonly container: Container;
  readonly limits: ArchiveLimits;
}

/**
 * Walks through our own export of a conversation (docs/contract.md#exports). It does not check that
 * this server signed the manifest: its texts are as trustworthy as those of any other archive.
 */
export async function parleyWalk({
  container,
  limits,
}: ParleyOptions): Promise<(walk: Walk) => AsyncGenerator<ArchiveRecord[]>> {
  await requireExport(container, limits);
  return async function* (walk) {
    walk.progress.total = ['participants.jsonl', 'messages.jsonl'].reduce(
      (sum, path) => sum + (container.entries.get(path)?.size ?? 0),
      0,
    );
    const reading = { container, limits, walk, read: fields };
    walk.meet('documents');
    const parsed = await readDocument(container, 'conversation.json', limits);
    const conversation = 'value' in parsed ? fields(parsed.value) : {};
    if ('value' in parsed) walk.readDocument();
    else walk.skip('documents', 'unreadable', parsed.problem, 'conversation.json');
    const ref = idOf(conversation.id) ?? 'conversation';

    const participants: Fields[] = [];
    for await (const lines of jsonLines('participants.jsonl', reading)) {
      participants.push(...lines.map(({ value }) => value));
    }
    // Participants come with their names; messages have the names of other authors.
    givePeople(peopleOf(participants), walk, 'participants.jsonl');
    giveConversation(ref, conversation, participants, walk);
    yield walk.take();

    const timeline = new ParleyTimeline(ref, container, walk);
    const positions = positionsOf(participants, walk);
    for await (const lines of jsonLines('messages.jsonl', reading)) {
      for (const { value, where } of lines) {
        positions.before(value, ref);
        positions.after(timeline.add(value, where));
      }
      yield walk.take();
    }
    positions.end(ref);
    yield walk.take();
  };
}

async function requireExport(container: Container, limits: ArchiveLimits): Promise<void> {
  const manifest = await readDocument(container, 'manifest.json', limits);
  const { object, format, subject } = 'value' in manifest ? fields(manifest.value) : {};
  if (object !== 'export_manifest') {
    throw new UnreadableArchive('wrong_format', 'This is no export of Parley: it has no manifest of one.');
  }
  if (format !== 1)
    throw new UnreadableArchive(
      'unsupported',
      'The export has a format of a later version. Import it with that version.',
    );
  if (fields(subject).type !== 'conversation' || !container.entries.has('messages.jsonl')) {
    throw new UnreadableArchive(
      'unsupported',
      'This is the export of a person. Exports of conversations can be imported.',
    );
  }
}

interface Reading<Value> extends ParleyOptions {
  readonly walk: Walk;
  /** Returns undefined for values that the file cannot have. */
  readonly read: (value: unknown) => Value | undefined;
}

/**
 * Returns the values of a file of JSON Lines, many at a time, and counts each line as a document.
 */
export async function* jsonLines<Value>(path: string, { container, limits, walk, read }: Reading<Value>) {
  const content = await container.open(path);
  if (content === undefined) return;
  try {
    for await (const lines of linesOf(content, limits.documentBytes)) {
      const values: { value: Value; where: string }[] = [];
      for (const { number, bytes } of lines) {
        const where = `${path}:${number}`;
        walk.meet('documents');
        walk.progress.done += (bytes?.length ?? 0) + 1;
        const parsed = bytes === undefined ? { problem: 'The line is too long.' } : parse(bytes, limits);
        const value = 'value' in parsed ? read(parsed.value) : undefined;
        if (value !== undefined) {
          walk.readDocument();
          values.push({ value, where });
        } else {
          const problem = 'problem' in parsed ? parsed.problem : 'The line has another form.';
          walk.skip('documents', 'unreadable', problem, where);
        }
      }
      yield values;
    }
  } catch (error) {
    if (!(error instanceof UnreadableArchive)) throw error;
    walk.meet('documents');
    walk.skip('documents', 'unreadable', error.message, path);
  }
}

function peopleOf(participants: readonly Fields[]): ListedPerson[] {
  const seen = new Set<string>();
  return participants.flatMap((participant): ListedPerson[] => {
    const actor = fields(participant.actor);
    const ref = idOf(actor.id) ?? idOf(participant.actor_id);
    if (ref === null || seen.has(ref)) return [];
    seen.add(ref);
    const { type } = participant;
    return [
      {
        ref,
        kind: type === 'customer' ? 'customer' : type === 'agent' ? 'bot' : 'user',
        name: text(actor.name),
        handle: null,
        email: emailOf(text(actor.handle)),
        email_verified: true,
        deactivated: false,
      },
    ];
  });
}

function giveConversation(
  ref: string,
  conversation: Fields,
  participants: readonly Fields[],
  walk: Walk,
): void {
  const people = participants.filter((it) => it.membership === 'active' || it.membership === 'hidden');
  const members = new Map<string, ConversationRecord['members'][number]>();
  for (const { actor, actor_id, role } of people) {
    const person = idOf(fields(actor).id) ?? idOf(actor_id);
    if (person !== null) members.set(person, { person, role: ROLES.find((it) => it === role) ?? 'member' });
  }
  const kind = conversation.type === 'direct_message' ? 'direct' : 'channel';
  walk.meet('conversations');
  walk.conversation({
    ref,
    merged: [],
    kind,
    private: true,
    audience: conversation.audience === 'customer' ? 'customer' : 'internal',
    title: kind === 'direct' ? null : nameOf(text(conversation.title), ref),
    description: null,
    archived: conversation.status === 'archived',
    created_at: wireTimeOrNull(rfcMicros(conversation.created_at)),
    creator: null,
    members: [...members.values()],
  });
}

const ROLES = ['owner', 'admin', 'member', 'viewer'] as const;

/** Gives the messages of an export, which are in the order of their numbers. */
class ParleyTimeline {
  readonly #ref: string;
  readonly #container: Container;
  readonly #walk: Walk;
  /** Ids of messages that have come; replies name them. */
  readonly #given = new Set<string>();

  constructor(ref: string, container: Container, walk: Walk) {
    this.#ref = ref;
    this.#container = container;
    this.#walk = walk;
  }

  /** Returns the id of the message if it was given. */
  add(message: Fields, where: string): string | undefined {
    const walk = this.#walk;
    walk.meet('messages');
    const reactions = list(message.reactions);
    const attachments = list(message.attachments).map(fields);
    const files = attachments.filter(({ kind }) => kind === 'file' || kind === 'image');
    walk.meet('reactions', reactions.length);
    walk.meet('files', files.length);
    const skip = (reason: string, detail: string): undefined => {
      walk.skip('messages', reason, detail, where);
      walk.skip('reactions', 'message_skipped', 'Its message was skipped.', where, reactions.length);
      walk.skip('files', 'message_skipped', 'Its message was skipped.', where, files.length);
    };
    const id = idOf(message.id);
    const at = rfcMicros(message.sent_at) ?? rfcMicros(message.created_at);
    if (id === null) return skip('no_id', 'It has no id.');
    if (this.#given.has(id)) return skip('duplicate', `The archive has the message ${id} twice.`);
    if (message.status !== 'sent')
      return skip('not_sent', `It was not sent, but ${String(message.status).slice(0, 20)}.`);
    if (at === null) return skip('invalid_time', 'Its times are none.');
    this.#given.add(id);
    const deleted_at = wireTimeOrNull(rfcMicros(message.deleted_at));
    const written = deleted_at === null ? [text(message.body), ...linksOf(attachments)] : [];
    const body = written.filter((it) => it !== null).join('\n') || null;
    walk.message({
      id: `parley:${id}`,
      conversation: this.#ref,
      author: this.#authorOf(message),
      created_at: wireTime(at),
      body,
      reply_to: this.#rootOf(message, where),
      edited_at: wireTimeOrNull(rfcMicros(message.edited_at)),
      deleted_at: deleted_at ?? (body === null && files.length === 0 ? wireTime(at) : null),
      mentions: list(message.mentions)
        .map(idOf)
        .filter((it) => it !== null),
      reactions: reactions.flatMap((it) => reactionOf(fields(it), walk, where)),
      files: files.flatMap((it) => this.#fileOf(it, where)),
      pin: null,
      audience: message.visibility === 'external' ? 'customer' : 'internal',
      system: message.kind === 'system_event' || message.kind === 'alert',
      incomplete: INCOMPLETE_REASONS.find((reason) => reason === message.incomplete) ?? null,
      where,
    });
    return `parley:${id}`;
  }

  #authorOf(message: Fields): string {
    const actor = [message.author, message.sender].map(fields).find((it) => idOf(it.id) !== null);
    const ref = actor === undefined ? 'service' : idOf(actor.id)!;
    this.#walk.hint(ref, actor === undefined ? 'Parley' : text(actor.name));
    return ref;
  }

  #rootOf({ reply_to_id }: Fields, where: string): string | null {
    const id = idOf(reply_to_id);
    if (id === null) return null;
    if (this.#given.has(id)) return `parley:${id}`;
    this.#walk.note('missing_root', `The message ${id}, which it replies to, is not in the archive.`, where);
    return null;
  }

  #fileOf(attachment: Fields, where: string): ArchivedFile[] {
    const entry = text(attachment.url);
    const name = fileName(text(attachment.filename), 'file');
    if (entry === null || !this.#container.entries.has(entry)) {
      const gone = attachment.removed_at == null ? 'is not in the archive' : 'had been removed';
      this.#walk.skip('files', 'missing_file', `${name} ${gone}.`, where);
      return [];
    }
    return [
      {
        id: idOf(attachment.id) ?? entry,
        name,
        content_type: contentType(attachment.content_type),
        size: whole(attachment.size_bytes) ?? this.#container.entries.get(entry)!.size,
        source: { entry },
      },
    ];
  }
}

/** Returns links and resources of the application as lines of text. */
function linksOf(attachments: readonly Fields[]): (string | null)[] {
  return attachments.map(({ kind, url, resource }) =>
    kind === 'link' ? text(url) : kind === 'resource' ? text(fields(resource).name) : null,
  );
}

function reactionOf({ emoji, actor_id, created_at }: Fields, walk: Walk, where: string): ArchivedReaction[] {
  const form = typeof emoji === 'string' ? toEmoji(emoji) : undefined;
  const person = idOf(actor_id);
  if (form !== undefined && person !== null) {
    return [{ emoji: form, person, created_at: wireTimeOrNull(rfcMicros(created_at)) }];
  }
  walk.skip('reactions', 'unreadable', 'A reaction has no emoji or no person.', where);
  return [];
}

/** Finds the last message that each participant has read; messages come in the order of numbers. */
function positionsOf(participants: readonly Fields[], walk: Walk) {
  const waiting = participants
    .flatMap(({ actor, actor_id, last_read_sequence }) => {
      const person = idOf(fields(actor).id) ?? idOf(actor_id);
      const sequence = whole(last_read_sequence);
      return person === null || sequence === null || sequence <= 0 ? [] : [{ person, sequence }];
    })
    .sort((a, b) => a.sequence - b.sequence);
  walk.meet('read_positions', waiting.length);
  let next = 0;
  let last: string | undefined;
  const giveUntil = (sequence: number, conversation: string) => {
    for (; next < waiting.length && waiting[next]!.sequence < sequence; next += 1) {
      const { person } = waiting[next]!;
      if (last !== undefined) walk.readPosition({ conversation, person, through: { message: last } });
      else walk.skip('read_positions', 'missing_message', 'Its message is not in the archive.', person);
    }
  };
  return {
    /** Called before the message is given. */
    before({ sequence }: Fields, conversation: string): void {
      giveUntil(whole(sequence) ?? 0, conversation);
    },
    after(id: string | undefined): void {
      last = id ?? last;
    },
    end: (conversation: string) => giveUntil(Number.POSITIVE_INFINITY, conversation),
  };
}
