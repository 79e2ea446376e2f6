import type { ChatMessage, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { CallOptions } from '../link/call-scope.ts';
import { type LoadedHost, LoadedObject, type PartOwner } from '../live/loaded-object.ts';
import { handled } from '../timing/serial-queue.ts';
import type { ThreadEvents, ThreadSnapshot } from './view/conversation-snapshot.ts';
import type { ThreadView } from './view/thread-view.ts';

/** The options of a thread. */
export interface ThreadOptions {
  /** Replies of the first page and of each `loadOlder`; 30 by default, 100 at most. */
  readonly pageSize?: number;
}

/** The requests of a thread to its conversation. */
export interface ThreadHost extends Pick<LoadedHost, 'timing'> {
  open(owner: PartOwner<ThreadSnapshot, ThreadEvents>): Promise<ThreadView>;
  send(body: SendMessageBody, options: CallOptions): Promise<ChatMessage>;
  retry(key: string): Promise<ChatMessage>;
  discard(key: string): void;
}

/**
 * The replies to a message: its newest ones, older ones on request, and local echoes of replies
 * that are being sent. It follows them until its own `close()` or that of its conversation.
 */
export class LiveThread extends LoadedObject<ThreadSnapshot, ThreadView, ThreadEvents> {
  /** The id of the message that is replied to. */
  readonly messageId: string;
  /** Resolves once the newest replies are loaded. Rejects if they cannot be read. */
  readonly opened: Promise<void>;
  readonly #host: ThreadHost;

  /** Use LiveConversation.thread. */
  constructor(messageId: string, host: ThreadHost) {
    super(NOTHING, { timing: host.timing }, (owner) => host.open(owner));
    this.messageId = messageId;
    this.opened = this.loaded.then((view) => view.opened);
    void handled(this.opened);
    this.#host = host;
  }

  /** Loads the page before the oldest reply. Resolves with `hasOlder`, rejects as Client.fetch. */
  readonly loadOlder: () => Promise<boolean> = this.via('loadOlder');

  /** Sends a reply, as LiveConversation.send does. */
  send(body: string | SendMessageBody, options: CallOptions = {}): Promise<ChatMessage> {
    const request = typeof body === 'string' ? { body } : body;
    return this.#host.send({ ...request, reply_to_message_id: this.messageId }, options);
  }

  /** Sends a failed reply again. */
  retry(key: string): Promise<ChatMessage> {
    return this.#host.retry(key);
  }

  /** Removes a failed reply. */
  discard(key: string): void {
    this.#host.discard(key);
  }

  /**
   * Moves the caller's position in the thread forward (default: the newest reply), apart from that
   * in the conversation. Rejects as Client.fetch does.
   */
  readonly markRead: (sequence?: number) => Promise<void> = this.via('markRead');
}

/** The snapshot before anything is known. */
export const NOTHING: ThreadSnapshot = {
  status: 'loading',
  end: null,
  root: null,
  messages: [],
  hasOlder: true,
};
