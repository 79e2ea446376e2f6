import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { ChatMessage, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { ClientError } from '../errors/client-error.ts';
import type { CallOptions } from '../link/call-scope.ts';
import type { KeptPages } from '../live/follow-host.ts';
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
}

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

/** A view of a conversation, which shows the messages being sent there. */
export interface OutboxFollower {
  /** The message is to be sent. May be called again for the same message. */
  pending(message: OutgoingMessage): void;
  sent(outgoing: OutgoingMessage, message: ChatMessage): void;
  failed(message: OutgoingMessage, error: Error): void;
  discarded(message: OutgoingMessage): void;
}

/**
 * The messages of a client that the server does not have. They are sent one after another in each
 * conversation, in the order of the calls, until the server has accepted or definitely refused
 * them. They live as long as the client; KeptOutbox keeps them for longer.
 */
export class Outbox {
  /** What its store keeps beside the messages. */
  readonly pages?: KeptPages;
  protected readonly host: OutboxHost;
  readonly #followers = new Map<string, Set<OutboxFollower>>();
  readonly #queues = new Map<string, SerialQueue>();
  /** Why each message was refused; undefined while it is to be sent. */
  readonly #messages = new Map<OutgoingMessage, Error | undefined>();

  constructor(host: OutboxHost) {
    this.host = host;
  }

  /** Returns the function that removes the follower. */
  follow(conversationId: string, follower: OutboxFollower): () => void {
    const followers = this.#followers.get(conversationId) ?? new Set();
    this.#followers.set(conversationId, followers.add(follower));
    for (const [message, error] of this.all()) {
      if (message.conversation_id === conversationId) show(follower, message, error);
    }
    return () => void followers.delete(follower);
  }

  /** Shows and sends a message. Rejects as Rest.send does. */
  send(message: OutgoingMessage, options: CallOptions): Promise<ChatMessage> {
    this.#forget(message.key);
    this.#messages.set(message, undefined);
    this.each(message, (follower) => follower.pending(message));
    return this.inTurn(message.conversation_id, async () => {
      try {
        const sent = await this.host.rest.send(message.conversation_id, message.request, options);
        this.#messages.delete(message);
        this.each(message, (follower) => follower.sent(message, sent));
        return sent;
      } catch (error) {
        this.#messages.set(message, error as Error);
        this.each(message, (follower) => follower.failed(message, error as Error));
        throw error;
      }
    });
  }

  /** Removes a failed message. */
  discard(key: string): void {
    const message = this.#forget(key);
    if (message !== undefined) this.each(message, (follower) => follower.discarded(message));
  }

  /** Called with a connection, which tells whose messages are sent. */
  attached(_actor: Actor): void {}

  /** Called if no connection will follow. */
  ended(): void {}

  /** Returns the messages in the order of sending, each with the error that refused it. */
  protected all(): Iterable<readonly [message: OutgoingMessage, error: Error | undefined]> {
    return this.#messages;
  }

  /** Runs work of a conversation one after another. Settles as `work` does. */
  protected inTurn<T>(conversationId: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(conversationId) ?? new SerialQueue();
    this.#queues.set(conversationId, queue);
    return queue.run(work);
  }

  protected each({ conversation_id }: OutgoingMessage, run: (follower: OutboxFollower) => void): void {
    for (const follower of this.#followers.get(conversation_id) ?? []) run(follower);
    // Behind all changes of the moment.
    queueMicrotask(() => {
      this.host.unsent([...this.all()].filter(([, error]) => error === undefined).length);
    });
  }

  /** Removes the message with this key. */
  #forget(key: string): OutgoingMessage | undefined {
    const message = [...this.#messages.keys()].find((one) => one.key === key);
    if (message !== undefined) this.#messages.delete(message);
    return message;
  }
}

/** Shows a message in its state. */
export function show(follower: OutboxFollower, message: OutgoingMessage, error: Error | undefined): void {
  follower.pending(message);
  if (error !== undefined) follower.failed(message, error);
}
