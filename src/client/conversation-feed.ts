import type { ErrorObject } from '../protocol/errors.ts';
import type { ChatMessage } from '../protocol/resources/chat-message.ts';
import type {
  EventOf,
  MessageDelta,
  MessageReset,
  MessageSnapshot,
  StreamSeal,
} from '../protocol/socket/event-data.ts';
import type { EventFrame } from '../protocol/socket/events.ts';
import { DeliveredVersions } from './delivered-versions.ts';
import { isSealed, StreamText } from './stream-text.ts';

/** A message as events carry it; `stream` seals the text of one that was written live. */
export type Message = ChatMessage & { readonly stream?: StreamSeal };

/** The text so far of a message that is being written. */
export interface StreamingText {
  readonly messageId: string;
  readonly body: string;
}

/** What becomes of a subscription. What one of these throws surfaces as an uncaught error and disturbs nothing else. */
export interface ConversationHandlers {
  /** Each message once, in the order of their numbers, whatever happens to connections. */
  onMessage(message: Message): void;
  /** A newer state of a message up to there: edited, deleted, or written to its end. */
  onUpdate?(message: Message): void;
  /** A message that is being written has grown, or shrunk where its writer began anew. */
  onStreaming?(writing: StreamingText): void;
  /** Its end, with `onUpdate` behind it. `matched` false: pieces were missing, and only that body is the text. */
  onStreamEnd?(written: { readonly messageId: string; readonly matched: boolean }): void;
  /** Anything else of the conversation: drafts, participants, typing. Durable events come once. */
  onEvent?(frame: EventOf): void;
  /** Everything up to this number is there. */
  onComplete?(through: number): void;
  /** Away for too long: messages still come one by one, but changes of older ones may be missing. Load anew what is shown. */
  onStale?(): void;
  /** It is over: the conversation may not be read (any more). */
  onEnd?(why: ErrorObject | 'revoked'): void;
}

/** What a feed asks of its client. */
export interface FeedHost {
  /** The text of this message is not what its writer sealed. */
  reload(messageId: string): void;
}

/**
 * One conversation of a client: delivers what arrives, over whichever connection, in order and once
 * (docs/realtime.md#catching-up). Invariants: `position` never goes back; what `onMessage` had are the messages up to it,
 * none twice. Every connection sends the conversation's messages in order from `position` or before, so
 * none is left out either.
 */
export class ConversationFeed {
  readonly id: string;
  readonly handlers: ConversationHandlers;
  readonly #host: FeedHost;
  readonly #messages = new DeliveredVersions();
  readonly #others = new DeliveredVersions();
  /** Changes that came ahead of their message. */
  readonly #early = new Map<number, Message>();
  readonly #writing = new Map<string, StreamText>();
  /** Whose late pieces are nothing any more. */
  readonly #written = new Set<string>();
  #position: number | undefined;
  #completeThrough = 0;

  /** `position`: the number after which messages are wanted; undefined until that is known. */
  constructor(id: string, position: number | undefined, handlers: ConversationHandlers, host: FeedHost) {
    this.id = id;
    this.#position = position;
    this.#completeThrough = position ?? 0;
    this.handlers = handlers;
    this.#host = host;
  }

  get position(): number | undefined {
    return this.#position;
  }

  get completeThrough(): number {
    return this.#completeThrough;
  }

  /** Where it begins. Does nothing once that is known. */
  begin(position: number): void {
    if (this.#position !== undefined) return;
    this.#position = position;
    this.#complete(position);
  }

  complete(through: number): void {
    this.#complete(through);
  }

  receive(frame: EventFrame): void {
    if (this.#position === undefined) return;
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
      default:
        this.#receiveOther(frame);
    }
  }

  /** Also from REST. */
  receiveMessage(message: Message): void {
    const { sequence } = message;
    if (sequence === null || this.#position === undefined) return;
    if (sequence <= this.#position) {
      if (this.#messages.knows(message.id)) this.#receiveUpdate(message);
      return;
    }
    this.#position = sequence;
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

  #receiveUpdate(message: Message): void {
    const { sequence } = message;
    if (sequence === null || this.#position === undefined) return;
    if (sequence > this.#position) {
      const held = this.#early.get(sequence);
      if (held === undefined || held.updated_at < message.updated_at) this.#early.set(sequence, message);
      if (this.#early.size > MAX_EARLY) this.#early.delete(this.#early.keys().next().value!);
      return;
    }
    if (!this.#messages.isNews(message.id, message.updated_at)) return;
    if (message.streaming_state !== 'streaming') this.#finish(message);
    this.handlers.onUpdate?.(message);
  }

  /** The seal is missing where the end was read again, after a resume. */
  #finish({ id, body, streaming_state, stream: seal }: Message): void {
    const text = this.#writing.get(id);
    this.#writing.delete(id);
    if (streaming_state === 'complete') addBounded(this.#written, id);
    if (text !== undefined) {
      const matched = seal === undefined ? text.whole && text.body === body : text.matches(seal);
      this.handlers.onStreamEnd?.({ messageId: id, matched });
    }
    // Damaged under way: what REST has is what counts.
    if (body !== null && seal !== undefined && !isSealed(body, seal)) this.#host.reload(id);
  }

  /** The whole text so far, from wherever it is known. */
  write(snapshot: MessageSnapshot): void {
    this.#write(snapshot, (text) => text.snapshot(snapshot));
  }

  /** What is being written, as far as it is known as a whole. */
  snapshots(): MessageSnapshot[] {
    return [...this.#writing]
      .filter(([, { whole }]) => whole)
      .map(([message_id, { attempt, body }]) => ({ message_id, attempt, body }));
  }

  #write<Piece extends Named>(piece: Piece, apply: (text: StreamText, piece: Piece) => boolean): void {
    const messageId = piece.message_id;
    if (this.#written.has(messageId)) return;
    let text = this.#writing.get(messageId);
    if (text === undefined) {
      // Begun before we looked: its snapshot is to come.
      text = new StreamText({ attempt: piece.attempt, body: '' }, false);
      this.#keepWriting(messageId, text);
    }
    if (apply(text, piece)) this.handlers.onStreaming?.({ messageId, body: text.body });
  }

  /** Pieces may have come before it, where it was read over REST. */
  #beginWriting({ id, body }: Message): void {
    const text = this.#writing.get(id);
    if (text?.whole !== true) this.#keepWriting(id, new StreamText({ attempt: 1, body: body ?? '' }));
    else if (text.body !== body) this.handlers.onStreaming?.({ messageId: id, body: text.body });
  }

  #keepWriting(messageId: string, text: StreamText): void {
    this.#writing.set(messageId, text);
    if (this.#writing.size > MAX_WRITING) this.#writing.delete(this.#writing.keys().next().value!);
  }

  #receiveOther(frame: EventFrame): void {
    if (!isNewsOf(this.#others, frame)) return;
    if (frame.event === 'draft.created' || frame.event === 'draft.updated') {
      this.#receiveDraft(frame.data as Message);
    }
    this.handlers.onEvent?.(frame as EventOf);
  }

  /** Drafts are written live too. */
  #receiveDraft(draft: Message): void {
    if (draft.streaming_state !== 'streaming') this.#finish(draft);
    else if (!this.#writing.has(draft.id)) this.#beginWriting(draft);
  }

  #complete(through: number): void {
    if (through <= this.#completeThrough) return;
    this.#completeThrough = through;
    this.handlers.onComplete?.(through);
  }
}

/** Events without a resource, such as typing, are always news. */
export function isNewsOf(seen: DeliveredVersions, { event, at, data }: EventFrame): boolean {
  const id = 'id' in data ? data.id : undefined;
  return typeof id !== 'string' || seen.isNews(id, at, event);
}

function addBounded(set: Set<string>, value: string): void {
  set.add(value);
  if (set.size > MAX_WRITING) set.delete(set.values().next().value!);
}

interface Named {
  readonly message_id: string;
  readonly attempt: number;
}

const MAX_EARLY = 1_000;
const MAX_WRITING = 100;
