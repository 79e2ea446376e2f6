import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { withKnownResources, withSameParts } from '../../lists/same-parts.ts';
import { messagePath, WHOLE } from '../../rest/paths.ts';
import type { ViewCore } from './view-core.ts';

/**
 * The messages that others reply to, in their newest known state. Events have only their ids; a
 * message that is not shown is read.
 */
export class Quotes {
  readonly #core: Pick<ViewCore, 'host' | 'timeline' | 'each'>;
  /** Null for messages that were asked for. */
  readonly #quotes = new Map<string, ChatMessage | null>();

  constructor(core: Pick<ViewCore, 'host' | 'timeline' | 'each'>) {
    this.#core = core;
  }

  /** Returns the message, or null until it is known. `given` came with the reply. */
  of(id: string, given: ChatMessage | null = null): ChatMessage | null {
    const known = this.#quotes.get(id) ?? null;
    if (known !== null && (given === null || given.updated_at <= known.updated_at)) return known;
    const found = this.#core.timeline.find(id) ?? given;
    if (found !== null) return this.#keep(found);
    if (!this.#quotes.has(id)) void this.#read(id);
    return null;
  }

  /** Notes a newer state of a message if others reply to it. */
  note(message: ChatMessage): void {
    const known = this.#quotes.get(message.id);
    if (known === undefined || (known !== null && message.updated_at < known.updated_at)) return;
    const quote = this.#keep(message);
    if (quote !== known) this.#core.each((timeline) => timeline.quote(quote));
  }

  /** Adds a newly known actor to the messages that it sent. */
  learned(actorId: string): void {
    for (const quote of this.#quotes.values()) {
      if (quote !== null && quote.sender === null && quote.sender_id === actorId) this.note(quote);
    }
  }

  clear(): void {
    this.#quotes.clear();
  }

  /** Keeps a quoted message without its own quote. */
  #keep(message: ChatMessage): ChatMessage {
    const { delivery: _, key: _key, ...state } = message as ChatMessage & Record<'delivery' | 'key', unknown>;
    const known = this.#quotes.get(message.id) ?? null;
    const { sender_id: id } = state;
    const sender = state.sender ?? known?.sender ?? (id ? this.#core.host.actors.get(id) : null) ?? null;
    const attachments = withKnownResources(known?.attachments ?? null, state.attachments);
    const quote: ChatMessage = {
      ...state,
      sender,
      attachments,
      reply_to: null,
      reactions: null,
      thread: null,
    };
    const kept = known === null ? quote : withSameParts(known, quote);
    this.#quotes.set(message.id, kept);
    return kept;
  }

  async #read(id: string): Promise<void> {
    this.#quotes.set(id, null);
    try {
      this.note(await this.#core.host.fetch<ChatMessage>(messagePath(id, WHOLE)));
    } catch {
      // The message is gone or not readable: the reply has only its id.
    }
  }
}
