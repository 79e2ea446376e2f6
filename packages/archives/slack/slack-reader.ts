import type { Container } from '../container/container.ts';
import { idOfCopy } from '../content/copies.ts';
import { readDocument } from '../content/documents.ts';
import type { EmojiNames } from '../content/emoji-names.ts';
import { Sorter } from '../content/sorter.ts';
import { slackMicros, wireTime } from '../content/times.ts';
import { list } from '../content/values.ts';
import type { Walk } from '../content/walk.ts';
import type { ArchiveLimits } from '../reader.ts';
import type { ArchiveRecord } from '../record.ts';
import { type SlackConversation, SlackConversations, type SlackPin } from './conversations.ts';
import { CONVERSATION_LISTS, layoutOf } from './layout.ts';
import { readMessage, type SlackMessage, type SlackSource } from './messages.ts';
import { SlackPeople } from './people.ts';

interface SlackOptions {
  readonly container: Container;
  readonly scratch: string;
  readonly limits: ArchiveLimits;
  readonly emojis: EmojiNames;
}

/**
 * Walks through an export of Slack: people, conversations, then the messages of one conversation
 * after the other. Throws `UnreadableArchive` at once if it is none.
 */
export function slackWalk(options: SlackOptions): (walk: Walk) => AsyncGenerator<ArchiveRecord[]> {
  const layout = layoutOf(options.container);
  const { container, limits } = options;
  return async function* (walk) {
    const people = new SlackPeople();
    const conversations = new SlackConversations();
    const files = layout.workspaces.flatMap((it) => it.conversations.flatMap((folder) => folder.files));
    const sizeOf = (path: string) => container.entries.get(path)!.size;
    walk.progress.total = files.reduce((sum, path) => sum + sizeOf(path), 0);
    const read = async (path: string): Promise<unknown> => {
      walk.meet('documents');
      const parsed = await readDocument(container, path, limits);
      if ('value' in parsed && Array.isArray(parsed.value)) {
        walk.readDocument();
        return parsed.value;
      }
      const problem = 'problem' in parsed ? parsed.problem : 'It is no list.';
      walk.skip('documents', 'unreadable', problem, path);
      return [];
    };
    for (const path of layout.userLists) people.add(await read(path), walk, path);
    for (const workspace of layout.workspaces) {
      for (const name of workspace.lists) {
        const path = `${workspace.folder}${name}`;
        conversations.add(await read(path), CONVERSATION_LISTS[name], workspace, walk, path);
      }
      conversations.addUnlisted(workspace, walk);
    }
    conversations.give(walk);
    yield walk.take();
    const source: SlackSource = {
      people,
      uploads: layout.uploads,
      names: {
        emojis: options.emojis,
        person: (id) => people.mention(people.ofBot(id)),
        channel: (id) => conversations.channelName(id),
      },
    };
    for (const conversation of conversations.all) {
      const sorter = new Sorter<SlackMessage>(options);
      const threads = new Set<string>();
      try {
        for (const { id, files } of conversation.parts) {
          for (const path of files) {
            const values = list(await read(path));
            const each = sizeOf(path) / Math.max(values.length, 1);
            for (const [index, value] of values.entries()) {
              if (walk.isFull) yield walk.take();
              const message = readMessage(value, id, source, walk, `${path}[${index}]`);
              if (message === undefined) continue;
              if (message.thread !== null) threads.add(`${id} ${message.thread}`);
              await sorter.add(message, each);
            }
            walk.progress.done += sizeOf(path);
            yield walk.take();
          }
        }
        const timeline = new SlackTimeline(conversation, threads, walk);
        for await (const messages of sorter.sorted()) {
          for (const message of messages) timeline.add(message);
          yield walk.take();
        }
        timeline.end();
      } finally {
        await sorter.close();
      }
    }
    yield walk.take();
  };
}

/** Gives the messages of a conversation, which come in the order of time. */
class SlackTimeline {
  readonly #ref: string;
  /** The threads that have replies. */
  readonly #threads: ReadonlySet<string>;
  readonly #walk: Walk;
  readonly #pins: Map<string, SlackPin>;
  /** Ids of messages by their names in replies: a thread is in one part of the conversation. */
  readonly #roots = new Map<string, string>();
  /** The messages of the present microsecond, by conversation and `ts`. */
  #copies = new Map<string, string[]>();
  #at = 0;

  constructor({ ref, parts }: SlackConversation, threads: ReadonlySet<string>, walk: Walk) {
    this.#ref = ref;
    this.#threads = threads;
    this.#walk = walk;
    this.#pins = new Map(parts.flatMap(({ id, pins }) => [...pins].map(([ts, pin]) => [`${id} ${ts}`, pin])));
  }

  add(message: SlackMessage): void {
    const { channel, ts, thread, where } = message;
    const id = this.#idOf(message);
    if (id === undefined) {
      this.#skip(message);
      return;
    }
    const key = `${channel} ${ts}`;
    const pin = this.#pins.get(key) ?? message.pinned;
    if (pin !== null && !this.#pins.delete(key)) this.#walk.meet('pins');
    const reply_to = thread === null ? null : this.#rootOf(message, thread);
    this.#walk.message({
      id,
      conversation: this.#ref,
      author: message.author,
      created_at: wireTime(message.at),
      body: message.body,
      reply_to,
      edited_at: message.editedAt,
      deleted_at: message.deleted ? wireTime(message.at) : null,
      mentions: message.mentions,
      reactions: message.reactions,
      files: message.files,
      pin,
      system: message.system,
      where,
    });
    // A reply with replies is a mistake: they are all in its thread.
    if (this.#threads.has(key) && !this.#roots.has(key)) this.#roots.set(key, reply_to ?? id);
  }

  /** Skips pins whose messages are not in the export. */
  end(): void {
    for (const key of this.#pins.keys()) {
      this.#walk.skip(
        'pins',
        'missing_message',
        `The pinned message ${key} is not in the archive.`,
        this.#ref,
      );
    }
  }

  #idOf(message: SlackMessage): string | undefined {
    if (message.at !== this.#at) this.#copies = new Map();
    this.#at = message.at;
    const { channel, ts, body, author, files } = message;
    return idOfCopy(
      this.#copies,
      `slack:${channel}:${ts}`,
      JSON.stringify([author, body, files.map((it) => it.id)]),
    );
  }

  #skip({ reactions, files, ts, where }: SlackMessage): void {
    this.#walk.skip('messages', 'duplicate', `The archive has the message ${ts} twice.`, where);
    this.#walk.skip(
      'reactions',
      'duplicate',
      'Its message is twice in the archive.',
      where,
      reactions.length,
    );
    this.#walk.skip('files', 'duplicate', 'Its message is twice in the archive.', where, files.length);
  }

  /** Returns the id of the thread's root; a tombstone stands for a missing root. */
  #rootOf({ channel, rootAuthor, where }: SlackMessage, thread: string): string {
    const key = `${channel} ${thread}`;
    const known = this.#roots.get(key);
    if (known !== undefined) return known;
    const id = `slack:${channel}:${thread}`;
    const created_at = wireTime(slackMicros(thread)!);
    const author = rootAuthor ?? 'unknown';
    if (rootAuthor === null) this.#walk.hint('unknown', 'Unknown author');
    this.#walk.note(
      'missing_root',
      `The root ${thread} of a thread is not in the archive: a tombstone.`,
      where,
    );
    this.#walk.message({
      id,
      counted: false,
      conversation: this.#ref,
      author,
      created_at,
      body: null,
      reply_to: null,
      edited_at: null,
      deleted_at: created_at,
      mentions: [],
      reactions: [],
      files: [],
      pin: null,
      system: false,
      where,
    });
    this.#roots.set(key, id);
    return id;
  }
}
