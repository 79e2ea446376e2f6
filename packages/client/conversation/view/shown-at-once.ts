import type { ChatMessage, EditMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { Pin } from '@parley/protocol/resources/pin.ts';
import type { MessageReactions } from '@parley/protocol/resources/reaction.ts';
import { messagePath, WHOLE } from '../../rest/paths.ts';
import { bodyOf } from '../../rest/rest.ts';
import { SerialQueue } from '../../timing/serial-queue.ts';
import type { ConversationParts } from './conversation-parts.ts';
import { edited, reacted, tombstone } from './message-changes.ts';
import type { ViewCore } from './view-core.ts';

type ChangeCore = Pick<ViewCore, 'host' | 'timeline' | 'pending' | 'each' | 'update'>;

/**
 * Changes that are shown at once and taken back if they are refused. They are requested one after
 * another, so the last change stays.
 */
export class ShownAtOnce {
  readonly #core: ChangeCore;
  readonly #parts: Pick<ConversationParts, 'pins' | 'drafts' | 'scheduled' | 'pinned'>;
  readonly #queue = new SerialQueue();

  constructor(core: ChangeCore, parts: Pick<ConversationParts, 'pins' | 'drafts' | 'scheduled' | 'pinned'>) {
    this.#core = core;
    this.#parts = parts;
  }

  edit(messageId: string, change: string | EditMessageBody): Promise<ChatMessage> {
    const body = bodyOf(change);
    const parts = this.#parts;
    const edit = <M extends ChatMessage>(message: M) => edited(message, body);
    const takeBack = [
      this.#show(messageId, edit),
      parts.drafts.pending.add(messageId, (known) => known && edit(known)),
      parts.scheduled.pending.add(messageId, (known) => known && edit(known)),
    ];
    return this.#run(takeBack, () => this.#update(messageId, 'PATCH', body));
  }

  delete(messageId: string): Promise<ChatMessage> {
    const takeBack = this.#show(messageId, tombstone);
    return this.#run([takeBack], () => this.#update(messageId, 'DELETE'));
  }

  react(messageId: string, emoji: string): Promise<void> {
    return this.#react(messageId, emoji, true);
  }

  unreact(messageId: string, emoji: string): Promise<void> {
    return this.#react(messageId, emoji, false);
  }

  #react(messageId: string, emoji: string, isThere: boolean): Promise<void> {
    const { host } = this.#core;
    const path = messagePath(messageId, `/reactions/${encodeURIComponent(emoji)}`);
    const reaction = { emoji, actorId: host.actor()?.id ?? '', isThere };
    const takeBack = this.#show(messageId, (message) => reacted(message, reaction));
    return this.#run([takeBack], async () => {
      const { reactions } = await this.#ask<MessageReactions>(path, isThere ? 'PUT' : 'DELETE');
      this.#core.each((timeline) => timeline.react(messageId, reactions));
    });
  }

  pin(messageId: string): Promise<Pin> {
    const message = this.#core.timeline.find(messageId);
    const pinned_by = this.#core.host.actor()?.id ?? null;
    const pinned_at = new Date().toISOString();
    const pin = message && ({ object: 'pin', message_id: messageId, pinned_by, pinned_at, message } as const);
    return this.#setPin(messageId, 'pin', (known) => known ?? pin);
  }

  unpin(messageId: string): Promise<Pin> {
    return this.#setPin(messageId, 'unpin', () => undefined);
  }

  #setPin(
    messageId: string,
    move: 'pin' | 'unpin',
    change: (known: Pin | undefined) => Pin | undefined,
  ): Promise<Pin> {
    const { pins } = this.#parts;
    return this.#run([pins.pending.add(messageId, change)], async () => {
      const path = messagePath(messageId, `/actions/${move}${WHOLE}`);
      const pin = await this.#ask<Pin>(path, 'POST');
      this.#parts.pinned(pin);
      return pin;
    });
  }

  async #update(messageId: string, method: 'PATCH' | 'DELETE', body?: EditMessageBody): Promise<ChatMessage> {
    const path = messagePath(messageId, WHOLE);
    const message = await this.#ask<ChatMessage>(path, method, body);
    this.#core.update(message);
    return message;
  }

  #show(messageId: string, change: <M extends ChatMessage>(message: M) => M): () => void {
    return this.#core.pending.add(messageId, (message) => ({ ...change(message), pending: true }));
  }

  /** Requests a change, in as many tries as it takes. */
  #ask<T>(path: string, method: 'PUT' | 'DELETE' | 'POST' | 'PATCH', body?: EditMessageBody): Promise<T> {
    return this.#core.host.fetch<T>(path, { method, mostTries: Infinity, ...(body && { body }) });
  }

  /** Runs the request, then takes the change back as the answer updates the known state. */
  #run<T>(takeBack: readonly (() => void)[], request: () => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      try {
        return await request();
      } finally {
        for (const back of takeBack) back();
      }
    });
  }
}
