import type { Actor } from '@parley/protocol/resources/actor.ts';
import type {
  ChatMessage,
  EditMessageBody,
  SendMessageBody,
} from '@parley/protocol/resources/chat-message.ts';
import type { Pin } from '@parley/protocol/resources/pin.ts';
import type { MessageReactions } from '@parley/protocol/resources/reaction.ts';
import type { ClientError } from '../errors/client-error.ts';
import type { CallOptions } from '../link/call-scope.ts';
import type { KeptPages } from '../live/follow-host.ts';
import { messagePath, WHOLE } from '../rest/paths.ts';
import type { Rest } from '../rest/rest.ts';
import { SerialQueue } from '../timing/serial-queue.ts';
import type { Timing } from '../timing/timing.ts';

/** A message that is to be sent. */
export interface OutgoingMessage {
  /** The `client_message_id`. */
  readonly key: string;
  /** Id of the conversation that it is sent to. */
  readonly conversation_id: string;
  /** The body of the request, with the `client_message_id`. */
  readonly request: SendMessageBody;
  /** By the clock of the machine. */
  readonly created_at: string;
  /** Absent: it changes nothing that is there. */
  readonly change?: never;
}

/** A change of a message that is to be requested. */
export interface OutgoingChange {
  /** The Idempotency-Key of its requests. */
  readonly key: string;
  /** Id of the conversation of the message. */
  readonly conversation_id: string;
  /** The change itself. */
  readonly change: MessageChange;
  /** By the clock of the machine. */
  readonly created_at: string;
  /** Absent: it is no message. */
  readonly request?: never;
}

/** A change that is shown before the server has answered. */
export interface MessageChange {
  /** The method of LiveConversation that was called. */
  readonly kind: keyof typeof METHODS;
  /** Id of the message. */
  readonly message_id: string;
  /** The fields of an edit; absent in other changes. */
  readonly body?: EditMessageBody;
  /** The emoji of a reaction; absent in other changes. */
  readonly emoji?: string;
}

/** What waits for the server. */
export type Outgoing = OutgoingMessage | OutgoingChange;

/** The server's answer: the message, its reactions, or its pin. */
export type OutgoingAnswer = ChatMessage | MessageReactions | Pin;

/** An outbox's part of its client. */
export interface OutboxHost {
  readonly timing: Pick<Timing, 'after'>;
  readonly rest: Pick<Rest, 'send' | 'wake' | 'fetch' | 'including'>;
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal;
  /** Takes what the server has said at an earlier visit, such as names. */
  answered(answer: object): void;
  /** The store could not be used. */
  failed(error: ClientError): void;
  /** This many messages wait for the server. */
  unsent(count: number): void;
}

/** A view of a conversation, which shows its outgoing messages, or its changes. */
export interface OutboxFollower<Item, Answer> {
  /** It is to be sent. May be called again for the same one. */
  pending(item: Item): void;
  sent(item: Item, answer: Answer): void;
  failed(item: Item, error: Error): void;
  discarded(item: Item): void;
}

type AnyFollower = OutboxFollower<Outgoing, OutgoingAnswer>;

/**
 * What a client has written or changed and the server does not have. It is sent one after another
 * in each conversation, in the order of the calls, until the server has accepted or definitely
 * refused it. It lives as long as the client; KeptOutbox keeps it for longer.
 */
export class Outbox {
  /** What its store keeps beside the messages. */
  readonly pages?: KeptPages;
  protected readonly host: OutboxHost;
  readonly #followers = new Map<string, Set<AnyFollower>>();
  readonly #queues = new Map<string, SerialQueue>();
  /** With the reason of a refusal; undefined while it is to be sent. */
  readonly #items = new Map<string, readonly [item: Outgoing, error: Error | undefined]>();

  constructor(host: OutboxHost) {
    this.host = host;
  }

  /**
   * Follows the messages to a conversation, or at `changesOf` it the changes there. Returns the
   * function that removes the follower.
   */
  follow<Item extends Outgoing, Answer extends OutgoingAnswer>(
    place: string,
    given: OutboxFollower<Item, Answer>,
  ): () => void {
    const follower = given as AnyFollower;
    const followers = this.#followers.get(place) ?? new Set();
    this.#followers.set(place, followers.add(follower));
    for (const [item, error] of this.all()) if (placeOf(item) === place) show(follower, item, error);
    return () => void followers.delete(follower);
  }

  /** Shows and sends. Rejects as Rest.fetch does. */
  send(item: Outgoing, options: CallOptions): Promise<OutgoingAnswer> {
    const { key } = item;
    this.#items.delete(key);
    this.#items.set(key, [item, undefined]);
    this.each(item, (follower) => follower.pending(item));
    return this.inTurn(item.conversation_id, async () => {
      try {
        const answer = await this.deliver(item, options);
        this.#items.delete(key);
        this.each(item, (follower) => follower.sent(item, answer));
        return answer;
      } catch (error) {
        this.#items.set(key, [item, error as Error]);
        // The caller of a change hears of it.
        if (item.change) this.discard(key);
        else this.each(item, (follower) => follower.failed(item, error as Error));
        throw error;
      }
    });
  }

  /** Returns what was refused. Throws a TypeError if nothing under this key was. */
  refused(key: string): Outgoing {
    for (const [item, error] of this.all()) if (error && item.key === key) return item;
    throw new TypeError(`There is no failed message ${JSON.stringify(key)}.`);
  }

  /** Removes what was refused. */
  discard(key: string): void {
    const [item] = this.#items.get(key) ?? [];
    this.#items.delete(key);
    if (item) this.each(item, (follower) => follower.discarded(item));
  }

  /** Called with a connection, which tells whose messages are sent. */
  attached(_actor: Actor): void {}

  /** Called if no connection will follow. */
  ended(): void {}

  /** Returns everything in the order of sending, each with the error that refused it. */
  protected all(): Iterable<readonly [item: Outgoing, error: Error | undefined]> {
    return this.#items.values();
  }

  /** Requests it, in as many tries as it takes. */
  protected deliver(
    { key, conversation_id, request, change }: Outgoing,
    options: CallOptions,
  ): Promise<OutgoingAnswer> {
    const { rest } = this.host;
    if (change === undefined) return rest.send(conversation_id, request, options);
    const { kind, message_id, body, emoji } = change;
    const action = METHODS[kind] === 'POST' ? `/actions/${kind}` : '';
    const path = emoji ? `/reactions/${encodeURIComponent(emoji)}` : action + WHOLE;
    return rest.fetch<OutgoingAnswer>(messagePath(message_id, path), {
      ...options,
      method: METHODS[kind],
      mostTries: Infinity,
      idempotencyKey: key,
      ...(body && { body }),
    });
  }

  /** Runs work of a conversation one after another. Settles as `work` does. */
  protected inTurn<T>(conversationId: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(conversationId) ?? new SerialQueue();
    this.#queues.set(conversationId, queue);
    return queue.run(work);
  }

  protected each(item: Outgoing, run: (follower: AnyFollower) => void): void {
    for (const follower of this.#followers.get(placeOf(item)) ?? []) run(follower);
    // Behind all changes of the moment.
    queueMicrotask(() => {
      this.host.unsent([...this.all()].filter(([{ request }, error]) => request && !error).length);
    });
  }
}

/** Shows a message in its state. */
export function show(follower: AnyFollower, item: Outgoing, error: Error | undefined): void {
  follower.pending(item);
  if (error !== undefined) follower.failed(item, error);
}

export function changesOf(conversationId: string): string {
  return `${conversationId} `;
}

/** Returns the place where an item is followed. */
function placeOf({ conversation_id, change }: Outgoing): string {
  return change ? changesOf(conversation_id) : conversation_id;
}

/** The methods of requests, by the kind of a change. */
export const METHODS = {
  edit: 'PATCH',
  delete: 'DELETE',
  react: 'PUT',
  unreact: 'DELETE',
  pin: 'POST',
  unpin: 'POST',
} as const;
