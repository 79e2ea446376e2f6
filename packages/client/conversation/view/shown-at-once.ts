import type { ChatMessage, EditMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { Pin } from '@parley/protocol/resources/pin.ts';
import type { MessageReactions } from '@parley/protocol/resources/reaction.ts';
import {
  changesOf,
  type MessageChange,
  type Outbox,
  type OutboxFollower,
  type OutgoingAnswer,
  type OutgoingChange,
} from '../../outbox/outbox.ts';
import { bodyOf, randomId } from '../../rest/rest.ts';
import type { ConversationParts } from './conversation-parts.ts';
import { edited, reacted, tombstone } from './message-changes.ts';
import type { SentMessage } from './timeline.ts';
import type { ViewCore } from './view-core.ts';

type ChangeCore = Pick<ViewCore, 'id' | 'host' | 'timeline' | 'pending' | 'each' | 'update'>;
type ChangedParts = Pick<ConversationParts, 'pins' | 'drafts' | 'scheduled' | 'pinned'>;

/**
 * Changes that are shown at once and taken back if they are refused. They wait in the outbox, in
 * one order with the messages. One that is refused after a reload has no caller who would hear of
 * it, and stands on its message.
 */
export class ShownAtOnce implements OutboxFollower<OutgoingChange, OutgoingAnswer> {
  readonly #core: ChangeCore;
  readonly #parts: ChangedParts;
  readonly #outbox: Outbox;
  /** The functions that take a shown change back, by its key. */
  readonly #shown = new Map<string, readonly (() => void)[]>();
  /** Shows nothing more; pending changes are still requested. */
  readonly close: () => void;

  constructor(core: ChangeCore, parts: ChangedParts, outbox: Outbox) {
    this.#core = core;
    this.#parts = parts;
    this.#outbox = outbox;
    this.close = outbox.follow(changesOf(core.id), this);
  }

  edit(message_id: string, change: string | EditMessageBody): Promise<ChatMessage> {
    return this.#send({ kind: 'edit', message_id, body: bodyOf(change) });
  }

  delete(message_id: string): Promise<ChatMessage> {
    return this.#send({ kind: 'delete', message_id });
  }

  react(message_id: string, emoji: string): Promise<void> {
    return this.#send({ kind: 'react', message_id, emoji });
  }

  unreact(message_id: string, emoji: string): Promise<void> {
    return this.#send({ kind: 'unreact', message_id, emoji });
  }

  pin(message_id: string): Promise<Pin> {
    return this.#send({ kind: 'pin', message_id });
  }

  unpin(message_id: string): Promise<Pin> {
    return this.#send({ kind: 'unpin', message_id });
  }

  pending(item: OutgoingChange): void {
    const { kind, message_id: id, body, emoji } = item.change;
    const { pins, drafts, scheduled } = this.#parts;
    const actorId = this.#core.host.actor()?.id ?? '';
    const change = <M extends ChatMessage>(message: M): M => {
      if (body) return edited(message, body);
      return emoji ? reacted(message, { emoji, actorId, isThere: kind === 'react' }) : tombstone(message);
    };
    const ofList = (known: ChatMessage | undefined) => (known && body ? edited(known, body) : known);
    const ofPins = (known: Pin | undefined): Pin | undefined => {
      const message = this.#core.timeline.find(id);
      const pinned_by = actorId || null;
      const pin = { object: 'pin', message_id: id, pinned_by, pinned_at: item.created_at } as const;
      return kind === 'unpin' ? undefined : (known ?? (message && { ...pin, message }));
    };
    this.discarded(item);
    this.#shown.set(
      item.key,
      kind === 'pin' || kind === 'unpin'
        ? [pins.pending.add(id, ofPins)]
        : [
            this.#show(id, (message) => ({ ...change(message), pending: true })),
            drafts.pending.add(id, ofList),
            scheduled.pending.add(id, ofList),
          ],
    );
  }

  sent(item: OutgoingChange, answer: OutgoingAnswer): void {
    const { message_id } = item.change;
    if ('pinned_at' in answer) this.#parts.pinned(answer);
    else if ('updated_at' in answer) this.#core.update(answer);
    else this.#core.each((timeline) => timeline.react(message_id, (answer as MessageReactions).reactions));
    this.discarded(item);
  }

  failed(item: OutgoingChange, error: Error): void {
    const failed = { key: item.key, error };
    this.discarded(item);
    this.#shown.set(item.key, [this.#show(item.change.message_id, (message) => ({ ...message, failed }))]);
  }

  discarded({ key }: OutgoingChange): void {
    for (const takeBack of this.#shown.get(key) ?? []) takeBack();
    this.#shown.delete(key);
  }

  #show(messageId: string, change: (message: SentMessage) => SentMessage): () => void {
    return this.#core.pending.add(messageId, change);
  }

  #send<Answer>(change: MessageChange): Promise<Answer> {
    const item = {
      key: randomId(),
      conversation_id: this.#core.id,
      change,
      created_at: new Date().toISOString(),
    };
    return this.#outbox.send(item, {}) as Promise<Answer>;
  }
}
