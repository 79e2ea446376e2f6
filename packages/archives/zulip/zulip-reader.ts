import { dirname } from 'node:path/posix';
import type { Container } from '../container/container.ts';
import { idOfCopy } from '../content/copies.ts';
import { readDocument } from '../content/documents.ts';
import type { EmojiNames } from '../content/emoji-names.ts';
import { Sorter } from '../content/sorter.ts';
import { type Micros, wireTime } from '../content/times.ts';
import { type Fields, fields, groupBy, idOf, isFields, list, text } from '../content/values.ts';
import type { Walk } from '../content/walk.ts';
import { type ArchiveLimits, UnreadableArchive } from '../reader.ts';
import type { ArchiveRecord } from '../record.ts';
import { ZulipDirectory } from './directory.ts';
import { readingOf, readMessage, type ZulipMessage, type ZulipSource } from './messages.ts';

interface ZulipOptions {
  readonly container: Container;
  readonly scratch: string;
  readonly limits: ArchiveLimits;
  readonly emojis: EmojiNames;
}

/** Returns whether a file is read; avatars, emojis and data of the server are not. */
export function isWanted(path: string): boolean {
  return /^([^/]+\/)?((realm|attachment|messages-\d+)\.json|uploads\/.+)$/.test(path);
}

/**
 * Walks through an export of Zulip. A channel is a conversation and a topic a thread: its first
 * message is the root and names the topic. Rejects with `UnreadableArchive` if it is none.
 */
export async function zulipWalk(
  options: ZulipOptions,
): Promise<(walk: Walk) => AsyncGenerator<ArchiveRecord[]>> {
  const { container, limits, emojis } = options;
  const realmPath = [...container.entries.keys()].find((path) => /^([^/]+\/)?realm\.json$/.test(path));
  if (realmPath === undefined) {
    throw new UnreadableArchive('wrong_format', 'This is no export of Zulip: it has no realm.json.');
  }
  const parsed = await readDocument(container, realmPath, {
    ...limits,
    documentBytes: limits.documentBytes * 4,
  });
  if ('problem' in parsed)
    throw new UnreadableArchive('damaged', `realm.json cannot be read. ${parsed.problem}`);
  const realm = fields(parsed.value);
  if (!Array.isArray(realm.zerver_userprofile) || !Array.isArray(realm.zerver_recipient)) {
    throw new UnreadableArchive('wrong_format', 'This is no export of Zulip: realm.json has no people.');
  }
  const folder = dirname(realmPath) === '.' ? '' : `${dirname(realmPath)}/`;
  const files = [...container.entries.keys()]
    .filter((path) => path.startsWith(folder) && /^messages-\d+\.json$/.test(path.slice(folder.length)))
    .sort((a, b) => numberOf(a) - numberOf(b));

  return async function* (walk) {
    const sizeOf = (path: string) => container.entries.get(path)!.size;
    walk.progress.total = files.reduce((sum, path) => sum + sizeOf(path), 0);
    const read = async (path: string): Promise<Fields> => {
      walk.meet('documents');
      const document = await readDocument(container, path, limits);
      if ('value' in document && isFields(document.value)) {
        walk.readDocument();
        return document.value;
      }
      walk.skip(
        'documents',
        'unreadable',
        'problem' in document ? document.problem : 'It is no object.',
        path,
      );
      return {};
    };
    walk.meet('documents');
    walk.readDocument();
    const directory = new ZulipDirectory(realm);
    directory.givePeople(walk, realmPath);
    directory.giveConversations(walk, realmPath);
    yield walk.take();
    const attachments = await attachmentsOf(`${folder}attachment.json`, container, realm, read);
    const reactions: ZulipSource['reactions'] = groupBy(
      list(realm.zerver_reaction).map(fields),
      (it) => idOf(it.message) ?? '',
    );
    const source: ZulipSource = { container, folder, emojis, directory, attachments, reactions };
    const readings = new Readings();
    const sorter = new Sorter<ZulipMessage>(options);
    try {
      for (const path of files) {
        yield* readFile(await read(path), path, source, sorter, readings, walk);
        walk.progress.done += sizeOf(path);
        yield walk.take();
      }
      skipUnclaimed(reactions, walk, realmPath);
      const timeline = new ZulipTimeline(directory, walk);
      for await (const messages of sorter.sorted()) {
        for (const message of messages) timeline.add(message);
        yield walk.take();
      }
      readings.give(directory, timeline.last, walk);
      yield walk.take();
    } finally {
      await sorter.close();
    }
  };
}

function numberOf(path: string): number {
  return Number(/(\d+)\.json$/.exec(path)?.[1]);
}

async function attachmentsOf(
  path: string,
  container: Container,
  realm: Fields,
  read: (path: string) => Promise<Fields>,
): Promise<ReadonlyMap<string, Fields>> {
  const document = container.entries.has(path) ? await read(path) : realm;
  return new Map(
    list(document.zerver_attachment).flatMap((value) => {
      const path_id = text(fields(value).path_id);
      return path_id === null ? [] : [[path_id, fields(value)] as const];
    }),
  );
}

async function* readFile(
  document: Fields,
  path: string,
  source: ZulipSource,
  sorter: Sorter<ZulipMessage>,
  readings: Readings,
  walk: Walk,
): AsyncGenerator<ArchiveRecord[]> {
  for (const value of list(document.zerver_reaction)) {
    const id = idOf(fields(value).message) ?? '';
    source.reactions.set(id, [...(source.reactions.get(id) ?? []), fields(value)]);
  }
  const places = new Map<string, { readonly group: number; readonly at: Micros }>();
  for (const [index, value] of list(document.zerver_message).entries()) {
    if (walk.isFull) yield walk.take();
    const where = `${path}[${index}]`;
    const message = fields(value);
    const conversation = source.directory.conversationOf(message, walk, where);
    const read = readMessage(message, conversation, source, walk, where);
    const id = idOf(message.id);
    if (id !== null) source.reactions.delete(id);
    if (read === undefined) continue;
    places.set(read.id, read);
    await sorter.add(read, (read.body?.length ?? 0) + 300);
  }
  for (const value of list(document.zerver_usermessage)) {
    const reading = readingOf(value);
    const place = reading && places.get(reading.message);
    if (place !== undefined) readings.add(reading!.person, place.group, place.at, reading!.read, walk);
  }
}

/** Skips reactions of realm.json whose messages are in no file. */
function skipUnclaimed(reactions: ReadonlyMap<string, readonly Fields[]>, walk: Walk, where: string): void {
  const count = [...reactions.values()].reduce((sum, it) => sum + it.length, 0);
  walk.meet('reactions', count);
  walk.skip('reactions', 'missing_message', 'Their messages are not in the archive.', where, count);
}

/** Each person's read position in each conversation: before the first unread message. */
class Readings {
  /** By conversation and person: the time of the first unread message, or infinite. */
  readonly #firstUnread = new Map<number, Map<string, Micros>>();

  add(person: string, group: number, at: Micros, read: boolean, walk: Walk): void {
    let people = this.#firstUnread.get(group);
    if (people === undefined) {
      people = new Map();
      this.#firstUnread.set(group, people);
    }
    const known = people.get(person);
    if (known === undefined) walk.meet('read_positions');
    people.set(person, Math.min(known ?? Number.POSITIVE_INFINITY, read ? Number.POSITIVE_INFINITY : at));
  }

  give(directory: ZulipDirectory, last: ReadonlyMap<number, Micros>, walk: Walk): void {
    for (const [group, people] of this.#firstUnread) {
      const conversation = directory.ofGroup(group).ref;
      for (const [person, firstUnread] of people) {
        const at = wireTime(Math.min(firstUnread - 1, last.get(group) ?? firstUnread - 1));
        walk.readPosition({ conversation, person, through: { at } });
      }
    }
  }
}

/** Gives messages, which come by conversation and in the order of time. */
class ZulipTimeline {
  readonly #directory: ZulipDirectory;
  readonly #walk: Walk;
  /** Times of the last messages, by conversation. */
  readonly last = new Map<number, Micros>();
  /** The roots of the present conversation's topics. */
  #topics = new Map<string, string>();
  #copies = new Map<string, string[]>();
  #group = -1;
  #at = -1;

  constructor(directory: ZulipDirectory, walk: Walk) {
    this.#directory = directory;
    this.#walk = walk;
  }

  add(message: ZulipMessage): void {
    const { group, at, topic, where, reactions, files } = message;
    if (group !== this.#group) this.#topics = new Map();
    if (group !== this.#group || at !== this.#at) this.#copies = new Map();
    this.#group = group;
    this.#at = at;
    const id = idOfCopy(this.#copies, `zulip:${message.id}`, '');
    if (id === undefined) {
      this.#walk.skip('messages', 'duplicate', `The archive has the message ${message.id} twice.`, where);
      this.#walk.skip(
        'reactions',
        'duplicate',
        'Its message is twice in the archive.',
        where,
        reactions.length,
      );
      this.#walk.skip('files', 'duplicate', 'Its message is twice in the archive.', where, files.length);
      return;
    }
    this.last.set(group, at);
    // Zulip ignores the case of topics.
    const key = topic?.toLowerCase();
    const root = key === undefined ? undefined : this.#topics.get(key);
    if (key !== undefined && root === undefined) this.#topics.set(key, id);
    this.#walk.message({
      id,
      conversation: this.#directory.ofGroup(group).ref,
      author: message.author,
      created_at: wireTime(at),
      body: topic !== null && root === undefined ? `**${topic}**\n\n${message.body ?? ''}` : message.body,
      reply_to: root ?? null,
      edited_at: message.edited_at,
      mentions: message.mentions,
      reactions,
      files,
      pin: null,
      system: false,
      where,
    });
  }
}
