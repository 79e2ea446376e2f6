import type { ChatMessage, SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import type { CallOptions } from '../link/call-scope.ts';
import type { PartOwner } from '../live/loaded-object.ts';
import { bodyOf } from '../rest/rest.ts';
import type { Timing } from '../timing/timing.ts';
import { LiveTimeline, UNREAD } from './live-timeline.ts';
import type { ThreadEvents, ThreadSnapshot } from './view/conversation-snapshot.ts';
import type { ThreadView } from './view/thread-view.ts';

/** The options of a thread. */
export interface ThreadOptions {
  /** Replies of the first page and of each `loadOlder`; 30 by default, 100 at most. */
  readonly pageSize?: number;
}

/** The conversation of a thread, which sends its replies. */
interface Sender {
  readonly send: (body: SendMessageBody, options: CallOptions) => Promise<ChatMessage>;
  readonly retry: (key: string) => Promise<ChatMessage>;
  readonly discard: (key: string) => void;
}

/**
 * The replies to a message: its newest ones, older ones on request, and local echoes of replies
 * that are being sent. It follows them until its own `close()` or that of its conversation.
 */
export class LiveThread extends LiveTimeline<ThreadSnapshot, ThreadView> {
  /** The id of the message that is replied to. */
  readonly messageId: string;
  /** Sends a failed reply again. */
  readonly retry: (key: string) => Promise<ChatMessage>;
  /** Removes a failed reply. */
  readonly discard: (key: string) => void;
  readonly #send: Sender['send'];

  /** Use LiveConversation.thread. */
  constructor(
    messageId: string,
    timing: Pick<Timing, 'after'>,
    { send, retry, discard }: Sender,
    open: (owner: PartOwner<ThreadSnapshot, ThreadEvents>) => Promise<ThreadView>,
  ) {
    super(NOTHING, timing, open);
    this.messageId = messageId;
    this.retry = retry;
    this.discard = discard;
    this.#send = send;
  }

  /** Sends a reply, as LiveConversation.send does. */
  send(body: string | SendMessageBody, options: CallOptions = {}): Promise<ChatMessage> {
    return this.#send({ ...bodyOf(body), reply_to_message_id: this.messageId }, options);
  }

  /**
   * Moves the caller's position in the thread forward (default: the newest reply), apart from that
   * in the conversation. Rejects as Client.fetch does.
   */
  readonly markRead: (sequence?: number) => Promise<void> = this.via('markRead');
}

/** The snapshot before anything is known. */
export const NOTHING: ThreadSnapshot = { ...UNREAD, root: null };
