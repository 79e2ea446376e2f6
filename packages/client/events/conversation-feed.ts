import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type {
  EventOf,
  MessageDelta,
  MessageReset,
  MessageSnapshot,
  MessagesPurged,
  StreamSeal,
} from '@parley/protocol/socket/event-data.ts';
import type { EventFrame } from '@parley/protocol/socket/events.ts';
import { dropOldest } from './drop-oldest.ts';
import { isSealed } from './seal.ts';
import { StreamText } from './stream-text.ts';

/** A message in the form of events; `stream` is the seal of a streamed text. */
export type Message = ChatMessage & {
  /** The seal of the whole streamed text; absent for texts that were not streamed. */
  readonly stream?: StreamSeal;
};

/** The current text of a message that is being streamed. */
export interface StreamingText {
  /** Id of the message. */
  readonly messageId: string;
  /** The text from its beginning. */
  readonly body: string;
}

/** The events of a subscription. A handler's error is uncaught and affects nothing else. */
export interface ConversationHandlers {
  /** The number after which messages are passed on is known. */
  onBegin?(after: number): void;
  /** Takes each message once, in the order of numbers, whatever happens to connections. */
  onMessage(message: Message): void;
  /** A newer state of a delivered message: edited, deleted, or finished. */
  onUpdate?(message: Message): void;
  /** A streamed text has grown, or was shortened because its writer started again. */
  onStreaming?(writing: StreamingText): void;
  /**
   * The end of a streamed message; `onUpdate` follows. If `matched` is false, pieces were missing,
   * and only the body of the update is the text.
   */
  onStreamEnd?(written: { readonly messageId: string; readonly matched: boolean }): void;
  /** Any other event: drafts, participants, typing. Durable events arrive once. */
  onEvent?(frame: EventOf): void;
  /** Drop messages up to this number (`messages.purged`). Requires version 1.2.harbor. */
  onPurged?(through: number): void;
  /** Everything up to this number has arrived. */
  onComplete?(through: number): void;
  /**
   * The client was away for too long: messages still arrive one by one, but changes of older ones
   * may be missing. Reload what is shown.
   */
  onStale?(): void;
  /** The subscription has ended: the conversation cannot be read (any more). */
  onEnd?(why: ErrorObject | 'revoked'): void;
}

/**
 * One conversation of a client: delivers messages in order and once, over any connection
 * (docs/realtime.md#catching-up). Invariants: `position` never goes back; `onMessage` has received
 * exactly the messages up to it, none twice. Every connection sends the conversation's messages in
 * order from `position` or earlier, so none is left out.
 */
export class ConversationFeed {
  readonly id: string;
  readonly handlers: ConversationHandlers;
  readonly #reload: (messageId: string) => void;
  readonly #messages = new DeliveredVersions();
  readonly #others = new DeliveredVersions();
  /** Changes that arrived before their message. */
  readonly #early = new Map<number, Message>();
  readonly #writing = new Map<string, StreamText>();
  /** Finished messages, whose late pieces are ignored. */
  readonly #written = new Set<string>();
  /** The number after which messages are wanted; undefined until it is known. */
  position: number | undefined;
  completeThrough: number;
  #purgedThrough = 0;

  /** `reload` is called for a message whose text does not match its seal. */
  constructor(
    id: string,
    position: number | undefined,
    handlers: ConversationHandlers,
    reload: (messageId: string) => void,
  ) {
    this.id = id;
    this.position = position;
    this.completeThrough = position ?? 0;
    this.handlers = handlers;
    this.#reload = reload;
  }

  /** Sets the start. Does nothing if it is known already. */
  begin(position: number): void {
    if (this.position !== undefined) return;
    this.position = position;
    this.handlers.onBegin?.(position);
    this.#complete(position);
  }

  complete(through: number): void {
    this.#complete(through);
  }

  receive(frame: EventFrame): void {
    if (this.position === undefined) return;
    switch (frame.event) {
      case 'message.created':
        this.receiveMessage(frame.data as Message);
        return;
      case 'message.updated':
        this.#receiveUpdate(frame.data as Message);
        return;
      case 'message.delta':
        this.#write(frame.data as MessageDelta, (text, delta) => text.delta(delta));
        return;
      case 'message.reset':
        this.#write(frame.data as MessageReset, (text, reset) => text.reset(reset));
        return;
      case 'message.snapshot':
        this.write(frame.data as MessageSnapshot);
        return;
      case 'messages.purged':
        this.#receivePurge((frame.data as MessagesPurged).through_sequence);
        return;
      default:
        this.#receiveOther(frame);
    }
  }

  /** Takes a message, also from REST. */
  receiveMessage(message: Message): void {
    const { sequence } = message;
    if (sequence === null || this.position === undefined) return;
    if (sequence <= this.position) {
      if (this.#messages.knows(message.id)) this.#receiveUpdate(message);
      return;
    }
    this.position = sequence;
    this.#messages.isNews(message.id, message.updated_at);
    this.handlers.onMessage(message);
    if (message.streaming_state === 'streaming') this.#beginWriting(message);
    else this.#finish(message);
    this.#complete(sequence);
    for (const [early, update] of this.#early) {
      if (early > sequence) continue;
      this.#early.delete(early);
      if (early === sequence) this.#receiveUpdate(update);
    }
  }

  #receivePurge(through: number): void {
    for (const sequence of this.#early.keys()) if (sequence <= through) this.#early.delete(sequence);
    if (through <= this.#purgedThrough) return;
    this.#purgedThrough = through;
    this.handlers.onPurged?.(through);
  }

  #receiveUpdate(message: Message): void {
    const { sequence } = message;
    if (sequence === null || this.position === undefined) return;
    if (sequence > this.position) {
      const held = this.#early.get(sequence);
      if (held === undefined || held.updated_at < message.updated_at) this.#early.set(sequence, message);
      dropOldest(this.#early, MAX_EARLY);
      return;
    }
    if (!this.#messages.isNews(message.id, message.updated_at)) return;
    if (message.streaming_state !== 'streaming') this.#finish(message);
    this.handlers.onUpdate?.(message);
  }

  /** Ends a text, without a seal if the end was reread after a resume. */
  #finish({ id, body, streaming_state, stream: seal }: Message): void {
    const text = this.#writing.get(id);
    this.#writing.delete(id);
    if (streaming_state === 'complete') this.#written.add(id);
    dropOldest(this.#written, MAX_WRITING);
    if (text !== undefined) {
      this.handlers.onStreamEnd?.({ messageId: id, matched: text.matches(body, seal) });
    }
    if (body !== null && seal !== undefined) void this.#verify(id, body, seal);
  }

  /** Replaces a text that was damaged on the way by the text from REST. */
  async #verify(id: string, body: string, seal: StreamSeal): Promise<void> {
    if (!(await isSealed(body, seal))) this.#reload(id);
  }

  /** Sets the whole text so far, from any source. */
  write(snapshot: MessageSnapshot): void {
    this.#write(snapshot, (text) => text.snapshot(snapshot));
  }

  /** Returns the messages that are being streamed, if their whole text is known. */
  snapshots(): MessageSnapshot[] {
    return [...this.#writing]
      .filter(([, { whole }]) => whole)
      .map(([message_id, { attempt, body }]) => ({ message_id, attempt, body }));
  }

  #write<Piece extends Pick<MessageDelta, 'message_id' | 'attempt'>>(
    piece: Piece,
    apply: (text: StreamText, piece: Piece) => boolean,
  ): void {
    const messageId = piece.message_id;
    if (this.#written.has(messageId)) return;
    let text = this.#writing.get(messageId);
    if (text === undefined) {
      // It began before the subscription: its snapshot follows.
      text = new StreamText({ attempt: piece.attempt, body: '' }, false);
      this.#keepWriting(messageId, text);
    }
    if (apply(text, piece)) this.handlers.onStreaming?.({ messageId, body: text.body });
  }

  /** Begins a text, whose pieces may come before a message from REST. */
  #beginWriting({ id, body }: Message): void {
    const text = this.#writing.get(id);
    if (text?.whole !== true) this.#keepWriting(id, new StreamText({ attempt: 1, body: body ?? '' }));
    else if (text.body !== body) this.handlers.onStreaming?.({ messageId: id, body: text.body });
  }

  #keepWriting(messageId: string, text: StreamText): void {
    this.#writing.set(messageId, text);
    dropOldest(this.#writing, MAX_WRITING);
  }

  #receiveOther(frame: EventFrame): void {
    if (!isNewsOf(this.#others, frame)) return;
    if (frame.event === 'draft.created' || frame.event === 'draft.updated') {
      this.#receiveDraft(frame.data as Message);
    }
    this.handlers.onEvent?.(frame as EventOf);
  }

  /** Takes a draft, which may be streamed. */
  #receiveDraft(draft: Message): void {
    if (draft.streaming_state !== 'streaming') this.#finish(draft);
    else if (!this.#writing.has(draft.id)) this.#beginWriting(draft);
  }

  #complete(through: number): void {
    if (through <= this.completeThrough) return;
    this.completeThrough = through;
    this.handlers.onComplete?.(through);
  }
}

/** Returns whether an event is news, as typing always is. Message parts have their own times. */
export function isNewsOf(seen: DeliveredVersions, { event, at, data }: EventFrame): boolean {
  if ('id' in data && typeof data.id === 'string') return seen.isNews(data.id, at, event);
  return !('message_id' in data) || seen.isNews(`${data.message_id} ${event}`, at, event);
}

const MAX_EARLY = 1_000;
const MAX_WRITING = 100;

/**
 * Remembers the last version of each resource that was passed on, to recognize repeated and late
 * changes (docs/realtime.md#catching-up). It keeps the latest two thousand resources, because a
 * socket may live for months: after a break at most a thousand messages and a thousand changes
 * arrive (otherwise the server sends `resync`). Versions are the server's times, which sort as
 * text.
 */
export class DeliveredVersions {
  readonly #versions = new Map<string, { readonly version: string; readonly as: string }>();

  knows(thing: string): boolean {
    return this.#versions.has(thing);
  }

  /** Returns true for a new version and remembers it. `as` separates events with equal times. */
  isNews(thing: string, version: string, as = ''): boolean {
    const last = this.#versions.get(thing);
    if (last !== undefined && (version < last.version || (version === last.version && as === last.as))) {
      return false;
    }
    this.#versions.delete(thing);
    this.#versions.set(thing, { version, as });
    dropOldest(this.#versions, MAX_SEEN);
    return true;
  }
}

const MAX_SEEN = 2_000;
