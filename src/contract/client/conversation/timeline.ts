import type { Actor } from '../../protocol/resources/actor.ts';
import type { SendMessageBody } from '../../protocol/resources/chat-message.ts';
import type { MessageReaction, ReactionCount } from '../../protocol/resources/reaction.ts';
import type { Message, StreamingText } from './conversation-feed.ts';

/** A message that the server has. */
export type SentMessage = Message & {
  readonly delivery: 'sent';
  /** Names the message in this view, from its local echo on. */
  readonly key: string;
};

/** The local echo of a message that is being sent or was refused. */
export interface LocalMessage {
  readonly delivery: 'pending' | 'failed';
  readonly key: string;
  /** Why the message was not sent. */
  readonly error?: Error;
  readonly id: null;
  readonly sequence: null;
  readonly client_message_id: string;
  readonly body: string | null;
  /** Undefined until the client knows its own actor. */
  readonly sender: Actor | undefined;
  readonly created_at: string;
  /** The body of the request. */
  readonly request: SendMessageBody;
}

export type TimelineMessage = SentMessage | LocalMessage;

/**
 * The messages of a conversation as a page shows them: those of the server by number, then local
 * echoes in the order of their sending. Events for the team carry no `client_message_id`, so an own
 * message that arrives before the answer to its request replaces the oldest echo with the same
 * text; the answer, which has the id, confirms or corrects that. Invariant: once every answer has
 * arrived, each message is shown once.
 */
export class Timeline {
  readonly #actor: () => Actor | undefined;
  #sent: SentMessage[] = [];
  #echoes: LocalMessage[] = [];
  /** Replaced echoes, by the id of the message that replaced them. */
  readonly #taken = new Map<string, LocalMessage>();
  /** Changes of messages that the page being loaded may have in an older state. */
  #held: Map<string, Message> | undefined;
  /** The same of reactions. */
  #heldReactions = new Map<string, readonly ReactionCount[]>();
  #all: readonly TimelineMessage[] | undefined;

  /** `actor` returns the caller; undefined until the first connection. */
  constructor(actor: () => Actor | undefined) {
    this.#actor = actor;
  }

  /** The same array until something changes. */
  get messages(): readonly TimelineMessage[] {
    this.#all ??= [...this.#sent, ...this.#echoes];
    return this.#all;
  }

  get first(): SentMessage | undefined {
    return this.#sent[0];
  }

  get last(): SentMessage | undefined {
    return this.#sent.at(-1);
  }

  /** Adds a message, or replaces an older state of it. */
  receive(message: Message): void {
    if (message.sequence === null) return;
    const index = this.#indexOf(message.sequence);
    const known = this.#sent[index];
    if (known?.id === message.id) this.#replace(index, message);
    else {
      const key = this.#claim(message)?.key ?? message.id;
      this.#sent.splice(index, 0, { ...message, delivery: 'sent', key });
    }
    this.#all = undefined;
  }

  /** Replaces an older state of a message. */
  update(message: Message): void {
    const known = message.sequence === null ? undefined : this.#sent[this.#indexOf(message.sequence)];
    if (known?.id === message.id) this.receive(message);
    else this.#held?.set(message.id, message);
  }

  /** Sets the text so far of a streamed message. */
  write({ messageId, body }: StreamingText): void {
    const index = this.#sent.findIndex(({ id }) => id === messageId);
    if (this.#sent[index]?.streaming_state !== 'streaming') return;
    this.#sent[index] = { ...this.#sent[index], body };
    this.#all = undefined;
  }

  /** Sets a message's reactions. `mine` is in answers; an event names only the first actors. */
  react(messageId: string, reactions: readonly (ReactionCount | MessageReaction)[]): void {
    const index = this.#sent.findIndex(({ id }) => id === messageId);
    const known = this.#sent[index];
    if (known === undefined) {
      if (this.#held !== undefined) this.#heldReactions.set(messageId, reactions);
      return;
    }
    const own = this.#actor()?.id ?? '';
    const wasMine = new Set(known.reactions?.filter(({ mine }) => mine).map(({ emoji }) => emoji));
    const isMine = ({ emoji, count, actor_ids: ids }: ReactionCount) =>
      ids.includes(own) || (count > ids.length && wasMine.has(emoji));
    this.#sent[index] = {
      ...known,
      reactions: reactions.map((one) => ({ ...one, mine: 'mine' in one ? one.mine : isMine(one) })),
    };
    this.#all = undefined;
  }

  /** Adds the page from `load`, with changes that arrive meanwhile. Rejects as `load` does. */
  async load(load: () => Promise<readonly Message[]>): Promise<void> {
    this.#held ??= new Map();
    const held = this.#held;
    try {
      for (const message of await load()) {
        this.receive(message);
        const newer = held.get(message.id);
        if (newer !== undefined) this.receive(newer);
        const reactions = this.#heldReactions.get(message.id);
        if (reactions !== undefined) this.react(message.id, reactions);
      }
    } finally {
      this.#held = undefined;
      this.#heldReactions.clear();
    }
  }

  /** Removes the messages in the range that are not among these ids. */
  keepOnly(ids: ReadonlySet<string>, { from, to }: { readonly from: number; readonly to: number }): void {
    this.#remove(({ id, sequence }) => sequence! >= from && sequence! <= to && !ids.has(id));
  }

  /** Removes the messages up to a number. */
  drop(through: number): void {
    this.#remove(({ sequence }) => sequence! <= through);
  }

  /** Adds an echo, or marks a failed one as pending again. */
  echo(key: string, request: SendMessageBody): void {
    const at = this.#echoes.findIndex((echo) => echo.key === key);
    const echo: LocalMessage = {
      delivery: 'pending',
      key,
      id: null,
      sequence: null,
      client_message_id: key,
      body: request.body ?? null,
      sender: this.#actor(),
      created_at: this.#echoes[at]?.created_at ?? new Date().toISOString(),
      request,
    };
    if (at === -1) this.#echoes.push(echo);
    else this.#echoes[at] = echo;
    this.#all = undefined;
  }

  /** Marks the message of an echo as accepted. */
  acknowledge(key: string, message: Message): void {
    this.#release((echo, id) => (echo.key === key) !== (id === message.id));
    const echo = this.#echoes.find((one) => one.key === key);
    if (echo !== undefined) this.#take(echo, message.id);
    if (message.sequence === null) {
      // A scheduled message or a draft: it is not in the timeline.
      this.#taken.delete(message.id);
      return;
    }
    this.receive(message);
    this.#rename(message.id, key);
    this.#taken.delete(message.id);
  }

  /** Marks the message of an echo as refused. */
  fail(key: string, error: Error): void {
    this.#release((echo) => echo.key === key);
    this.#echoes = this.#echoes.map((echo) =>
      echo.key === key ? { ...echo, delivery: 'failed', error } : echo,
    );
    this.#all = undefined;
  }

  discard(key: string): void {
    this.#echoes = this.#echoes.filter((echo) => echo.key !== key);
    this.#all = undefined;
  }

  clear(): void {
    this.#sent = [];
    this.#echoes = [];
    this.#taken.clear();
    this.#all = undefined;
  }

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

  /** States complete each other: unlike answers, events lack `client_message_id` and `reply_to`. */
  #replace(index: number, message: Message): void {
    const known = this.#sent[index]!;
    if (message.updated_at < known.updated_at) return;
    this.#sent[index] = {
      ...message,
      // A state of equal age lacks the text streamed since.
      body: message.updated_at === known.updated_at ? known.body : message.body,
      sender: message.sender ?? known.sender,
      attachments: message.attachments ?? known.attachments,
      reply_to: message.reply_to ?? known.reply_to,
      client_message_id: message.client_message_id ?? known.client_message_id,
      ...(message.reactions ? {} : { reactions: known.reactions ?? null }),
      delivery: 'sent',
      key: known.key,
    };
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

  #mayBe({ body }: LocalMessage, message: Message): boolean {
    const author = message.author_id ?? message.sender?.id;
    // A persona stands for authors whom this version does not name.
    const isOwn = author === this.#actor()?.id || message.sender?.type === 'group';
    return isOwn && (message.body ?? '') === (body ?? '');
  }

  #take(echo: LocalMessage, messageId: string): void {
    this.#echoes = this.#echoes.filter((one) => one !== echo);
    this.#taken.set(messageId, echo);
    this.#all = undefined;
  }

  /** Restores echoes that the message of another request replaced. */
  #release(isWrong: (echo: LocalMessage, messageId: string) => boolean): void {
    for (const [id, echo] of this.#taken) {
      if (!isWrong(echo, id)) continue;
      this.#taken.delete(id);
      this.#rename(id, id);
      this.#echoes.push(echo);
    }
  }

  #rename(messageId: string, key: string): void {
    const index = this.#sent.findIndex(({ id }) => id === messageId);
    if (index === -1 || this.#sent[index]!.key === key) return;
    this.#sent[index] = { ...this.#sent[index]!, key };
    this.#all = undefined;
  }

  #remove(isGone: (message: SentMessage) => boolean): void {
    this.#sent = this.#sent.filter((message) => !isGone(message));
    this.#all = undefined;
  }
}
