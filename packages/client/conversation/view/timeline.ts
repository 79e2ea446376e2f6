import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { MessageReaction, ReactionCount } from '@parley/protocol/resources/reaction.ts';
import type { Thread } from '@parley/protocol/resources/thread.ts';
import type { Message, StreamingText } from '../../events/conversation-feed.ts';
import { withKnownResources, withSameParts } from '../../lists/same-parts.ts';
import type { KeptTimeline } from '../../rest/kept-pages.ts';
import { isForTimeline, type LocalMessage } from './local-echo.ts';
import type { PendingChanges } from './pending-changes.ts';
import { emptyThread, withNewReplies, withoutReply, withReadThrough } from './thread-counts.ts';

/** A message that the server has. */
export type SentMessage = Message & {
  /** Tells it from a local echo, which is `pending` or `failed`. */
  readonly delivery: 'sent';
  /** Names the message in this view, from its local echo on. */
  readonly key: string;
  /** True while a change of this client is shown that waits for the server; otherwise absent. */
  readonly pending?: true;
  /**
   * A change that was refused after a reload, until it is given to `retry` or `discard`; otherwise
   * absent.
   */
  readonly failed?: FailedChange;
};

/** A change of a message that the server has refused. */
interface FailedChange {
  /** For `retry` and `discard`. */
  readonly key: string;
  /** Why it was refused. */
  readonly error: Error;
}

/** A message as a page shows it: from the server, or the echo of an outgoing message. */
export type TimelineMessage = SentMessage | LocalMessage;

export interface TimelineHost {
  /** Returns the caller; undefined until the first connection. */
  actor(): Actor | undefined;
  /** Returns the known number up to which the caller has nothing unread. */
  readThrough(): number;
  /** Called after each change of `messages`. */
  changed(): void;
  /** Returns the message that is replied to, if it is known. */
  quoteOf(id: string, given: ChatMessage | null): ChatMessage | null;
  /** Changes that are shown before the server has answered. */
  readonly pending: PendingChanges<SentMessage>;
}

/**
 * The messages of a conversation as a page shows them: the server's by number, then local echoes in
 * the order of sending. Events for the team carry no `client_message_id`. So an own message that
 * arrives before the answer to its request replaces the oldest echo with the same text, number of
 * files and quote. The answer, which has the id, confirms or corrects that. Invariants: once every
 * answer has arrived, each message is shown once; a message is the same object until it changes.
 */
export class Timeline {
  /** Takes no message with a higher number, and no echo unless it is Infinity. */
  takesThrough: number = Infinity;
  /** Adds messages of an earlier visit to those that arrived, until the first page was read. */
  kept?: KeptTimeline['kept'];
  readonly #host: TimelineHost;
  readonly #rootId: string | null;
  #sent: SentMessage[] = [];
  #echoes: LocalMessage[] = [];
  /** Replaced echoes, by the id of the message that replaced them. */
  readonly #taken = new Map<string, LocalMessage>();
  /** Changes of messages, by id, that the page being loaded may have in an older state. */
  #held: Map<string, readonly (() => void)[]> | undefined;
  #all: readonly TimelineMessage[] | undefined;

  /** With `rootId`: takes only this message and its replies, and drops deleted replies. */
  constructor(host: TimelineHost, rootId: string | null = null) {
    this.#host = host;
    this.#rootId = rootId;
  }

  /** The same array until something changes. */
  get messages(): readonly TimelineMessage[] {
    this.#all ??= [
      ...((this.kept?.(this.#sent, this.#echoes) as readonly SentMessage[] | undefined) ?? this.#sent)
        .map((message) => this.#host.pending.applied(message.id, message))
        .filter(this.#isShown),
      ...(this.takesThrough === Infinity ? this.#echoes.filter(isShownEcho) : []),
    ];
    return this.#all;
  }

  /** The number of messages of the server. */
  get size(): number {
    return this.#sent.length;
  }

  get first(): SentMessage | undefined {
    return this.#sent[0];
  }

  get last(): SentMessage | undefined {
    return this.#sent.at(-1);
  }

  /** Returns a message in the state of the server. */
  find(id: string): SentMessage | undefined {
    return this.#sent[this.#indexOfId(id)];
  }

  /** Renews `messages`. */
  touch(): void {
    this.#all = undefined;
    this.#host.changed();
  }

  /** Adds the messages of another timeline. */
  copy(other: Timeline): void {
    for (const message of other.#sent) if (this.#takes(message)) this.#insert(message);
    for (const echo of other.#echoes) this.echo(echo);
    this.touch();
  }

  /** Adds a message, or replaces an older state of it. */
  receive(message: Message): void {
    if (message.sequence === null || !this.#takes(message)) return;
    const index = this.#indexOf(message.sequence);
    if (this.#sent[index]?.id === message.id) {
      this.#replace(index, message);
      return;
    }
    const key = this.#claim(message)?.key ?? message.id;
    const thread = message.thread === null ? { thread: emptyThread(message.id) } : {};
    this.#insert({ ...message, ...thread, delivery: 'sent', key });
    this.touch();
  }

  /** Replaces an older state of a message. */
  update(message: Message): void {
    const known = message.sequence === null ? undefined : this.#sent[this.#indexOf(message.sequence)];
    if (known?.id === message.id) this.receive(message);
    else this.#hold(message.id, () => this.receive(message));
  }

  /** Sets the text so far of a streamed message. */
  write(writing: StreamingText): void {
    const { messageId, body } = writing;
    if (this.find(messageId) === undefined) this.#hold(messageId, () => this.write(writing));
    this.#change(messageId, (known) => (known.streaming_state === 'streaming' ? { ...known, body } : known));
  }

  /** Sets a message's reactions. `mine` is in answers; an event names only the first actors. */
  react(messageId: string, reactions: readonly (ReactionCount | MessageReaction)[]): void {
    if (this.find(messageId) === undefined) this.#hold(messageId, () => this.react(messageId, reactions));
    this.#change(messageId, (known) => {
      const wasMine = new Set(known.reactions?.filter(({ mine }) => mine).map(({ emoji }) => emoji));
      const isMine = ({ emoji, count, actor_ids: ids }: ReactionCount) =>
        ids.includes(this.#ownId) || (count > ids.length && wasMine.has(emoji));
      const all = reactions.map((one) => ({ ...one, mine: 'mine' in one ? one.mine : isMine(one) }));
      return withSameParts(known, { ...known, reactions: all });
    });
  }

  /** Sets the counts of a message's thread, from an answer. */
  count(thread: Thread): void {
    this.#change(thread.message_id, (known) => withSameParts(known, { ...known, thread }));
    this.#countReplies(thread.message_id);
  }

  /** Counts replies after the caller's position has moved. */
  positionMoved(): void {
    for (const { id, thread } of [...this.#sent]) if (thread?.unread) this.#countReplies(id);
  }

  /** Returns the number of shown, undeleted messages of others behind a number. */
  unreadAfter(sequence: number): number {
    const isUnread = ({ sequence: at, author_id, sender, deleted_at }: SentMessage) =>
      at! > sequence && deleted_at === null && (author_id ?? sender?.id) !== this.#ownId;
    return this.#sent.filter(isUnread).length;
  }

  /** Shows a newer state of a message in its replies. */
  quote(original: ChatMessage): void {
    let isQuoted = false;
    const quoting = <M extends SentMessage | LocalMessage>(message: M): M => {
      if (message.reply_to_id !== original.id || message.reply_to === original) return message;
      isQuoted = true;
      return { ...message, reply_to: original };
    };
    this.#sent = this.#sent.map(quoting);
    this.#echoes = this.#echoes.map(quoting);
    if (isQuoted) this.touch();
  }

  /** Adds the page from `load`, with changes that arrive meanwhile. Rejects as `load` does. */
  async load(load: () => Promise<readonly Message[]>): Promise<void> {
    this.#held ??= new Map();
    const held = this.#held;
    try {
      const page = await load();
      if (this.kept !== undefined) {
        this.kept = undefined;
        this.touch();
      }
      for (const message of page) {
        this.receive(message);
        for (const change of held.get(message.id) ?? []) change();
      }
    } finally {
      this.#held = undefined;
    }
  }

  /** Removes the messages up to a number that are not among these ids. */
  keepOnly(ids: ReadonlySet<string>, through: number): void {
    this.#remove(({ id, sequence }) => sequence! <= through && !ids.has(id));
  }

  /** Removes all but so many of the newest messages. */
  keepNewest(count: number): void {
    this.drop(this.#sent.at(-count - 1)?.sequence ?? 0);
  }

  /** Removes the messages up to a number. */
  drop(through: number): void {
    this.#remove(({ sequence }) => sequence! <= through);
  }

  /** Adds an echo, or replaces the one with its key. */
  echo(echo: LocalMessage): void {
    if (this.#rootId !== null && echo.reply_to_id !== this.#rootId) return;
    const at = this.#echoes.findIndex(({ key }) => key === echo.key);
    if (at === -1) this.#echoes.push(echo);
    else this.#echoes[at] = echo;
    this.touch();
  }

  /** Marks the message of an echo as accepted. */
  acknowledge(key: string, message: Message): void {
    this.#release((echo, id) => (echo.key === key) !== (id === message.id));
    const echo = this.#echoes.find((one) => one.key === key);
    if (echo !== undefined) this.#take(echo, message.id);
    // A scheduled message or a draft is not in the timeline.
    if (message.sequence !== null) {
      this.receive(message);
      this.#rename(message.id, key);
    }
    this.#taken.delete(message.id);
  }

  /** Marks the message of an echo as refused. */
  fail(key: string, error: Error): void {
    this.#release((echo) => echo.key === key);
    const echo = this.#echoes.find((one) => one.key === key);
    if (echo !== undefined) this.echo({ ...echo, delivery: 'failed', error });
  }

  discard(key: string): void {
    this.#echoes = this.#echoes.filter((echo) => echo.key !== key);
    this.touch();
  }

  clear(): void {
    this.#sent = [];
    this.#echoes = [];
    this.kept = undefined;
    this.#taken.clear();
    this.touch();
  }

  #hold(messageId: string, change: () => void): void {
    this.#held?.set(messageId, [...(this.#held.get(messageId) ?? []), change]);
  }

  get #ownId(): string {
    return this.#host.actor()?.id ?? '';
  }

  #takes({ id, sequence, reply_to_id }: Message): boolean {
    if (sequence! > this.takesThrough) return false;
    return this.#rootId === null || id === this.#rootId || reply_to_id === this.#rootId;
  }

  readonly #isShown = ({ id, deleted_at }: SentMessage): boolean =>
    this.#rootId === null || id === this.#rootId || deleted_at === null;

  /** Returns the index of the first message whose number is not below this one. */
  #indexOf(sequence: number): number {
    let [low, high] = [0, this.#sent.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#sent[middle]!.sequence! < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #indexOfId(messageId: string): number {
    return this.#sent.findIndex(({ id }) => id === messageId);
  }

  #insert(message: SentMessage): void {
    const index = this.#indexOf(message.sequence!);
    if (this.#sent[index]?.id === message.id) return;
    this.#sent.splice(index, 0, this.#quoting(message));
    this.#countReplies(message.reply_to_id);
    // The newest has no replies.
    if (index < this.#sent.length - 1) this.#countReplies(message.id);
  }

  /** Replaces a message by the result, unless that is the same. */
  #change(messageId: string, change: (known: SentMessage) => SentMessage): void {
    const index = this.#indexOfId(messageId);
    const known = this.#sent[index];
    if (known === undefined) return;
    this.#sent[index] = change(known);
    if (this.#sent[index] !== known) this.touch();
  }

  /** Merges states: unlike answers, events lack `client_message_id` and `reply_to`. */
  #replace(index: number, message: Message): void {
    const known = this.#sent[index]!;
    if (message.updated_at < known.updated_at) return;
    const isAsOld = message.updated_at === known.updated_at;
    const isGone = Boolean(message.deleted_at);
    const next = this.#quoting({
      ...(isAsOld ? known : {}),
      ...message,
      // A state of equal age lacks the text streamed since.
      body: isAsOld ? known.body : message.body,
      sender: message.sender ?? known.sender,
      attachments: withKnownResources(known.attachments, message.attachments),
      reply_to: message.reply_to ?? known.reply_to,
      client_message_id: message.client_message_id ?? known.client_message_id,
      reactions: message.reactions ?? (isGone ? [] : (known.reactions ?? null)),
      thread: message.thread ?? known.thread ?? null,
      delivery: 'sent',
      key: known.key,
    });
    this.#sent[index] = withSameParts(known, next);
    if (this.#sent[index] === known) return;
    if (isGone && known.deleted_at === null) {
      this.#recount(next.reply_to_id, (thread, replies) => withoutReply(thread, known, replies, this.#ownId));
      this.#countReplies(next.reply_to_id);
    }
    this.#countReplies(next.id);
    this.touch();
  }

  #quoting(message: SentMessage): SentMessage {
    const { reply_to_id: id, reply_to: given } = message;
    if (id === null || id === undefined) return message;
    const reply_to = this.#host.quoteOf(id, given);
    return reply_to === given ? message : { ...message, reply_to };
  }

  /** Counts replies that the server had not counted, and replies read since then. */
  #countReplies(rootId: string | null | undefined): void {
    const [through, ownId] = [this.#host.readThrough(), this.#ownId];
    this.#recount(rootId, (thread, replies) =>
      withReadThrough(withNewReplies(thread, replies, ownId), replies, through, ownId),
    );
  }

  #recount(
    rootId: string | null | undefined,
    count: (thread: Thread, replies: readonly SentMessage[]) => Thread,
  ): void {
    if (rootId === null || rootId === undefined) return;
    this.#change(rootId, (root) => {
      const replies = root.thread ? this.#sent.filter(({ reply_to_id }) => reply_to_id === rootId) : [];
      const thread = root.thread ? count(root.thread, replies) : root.thread;
      return thread === root.thread || thread === undefined ? root : { ...root, thread };
    });
  }

  /** Returns the echo that this message replaces. */
  #claim(message: Message): LocalMessage | undefined {
    const own = message.client_message_id;
    const echo =
      own === null
        ? this.#echoes.find((one) => one.delivery === 'pending' && this.#mayBe(one, message))
        : this.#echoes.find(({ key }) => key === own);
    if (echo !== undefined) this.#take(echo, message.id);
    return echo;
  }

  #mayBe({ body, attachments, reply_to_id, request }: LocalMessage, message: Message): boolean {
    const author = message.author_id ?? message.sender?.id;
    // A persona stands for authors whom this version does not name.
    const isOwn = author === this.#ownId || message.sender?.type === 'group';
    return (
      isOwn &&
      isForTimeline(request) &&
      (message.body ?? '') === (body ?? '') &&
      (message.attachments?.length ?? 0) === attachments.length &&
      (message.reply_to_id === undefined || message.reply_to_id === reply_to_id)
    );
  }

  #take(echo: LocalMessage, messageId: string): void {
    this.#echoes = this.#echoes.filter((one) => one !== echo);
    this.#taken.set(messageId, echo);
    this.touch();
  }

  /** Restores echoes that the message of another request replaced. */
  #release(isWrong: (echo: LocalMessage, messageId: string) => boolean): void {
    for (const [id, echo] of this.#taken) {
      if (!isWrong(echo, id)) continue;
      this.#taken.delete(id);
      this.#rename(id, id);
      this.#echoes.push(echo);
      this.touch();
    }
  }

  #rename(messageId: string, key: string): void {
    this.#change(messageId, (known) => (known.key === key ? known : { ...known, key }));
  }

  #remove(isGone: (message: SentMessage) => boolean): void {
    const left = this.#sent.filter((message) => !isGone(message));
    if (left.length === this.#sent.length) return;
    this.#sent = left;
    this.touch();
  }
}

function isShownEcho({ delivery, request }: LocalMessage): boolean {
  return delivery === 'failed' || isForTimeline(request);
}
