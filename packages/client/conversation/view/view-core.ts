import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Message } from '../../events/conversation-feed.ts';
import type { ConversationHost } from '../conversation-host.ts';
import type { ConversationSnapshot } from './conversation-snapshot.ts';
import type { PendingChanges } from './pending-changes.ts';
import type { SentMessage, Timeline } from './timeline.ts';

/** State shared by the pieces of an open conversation. */
export interface ViewCore {
  readonly id: string;
  /** The path of the conversation. */
  readonly path: string;
  readonly host: ConversationHost;
  /** Settles when events arrive, or never will. */
  readonly begun: Promise<void>;
  readonly timeline: Timeline;
  /** Changes of messages that the server has not answered, shown in every timeline. */
  readonly pending: PendingChanges<SentMessage>;
  /** Runs with every timeline that shows messages of the conversation. */
  each(run: (timeline: Timeline) => void): void;
  /** Returns a message that others reply to, as far as it is known. */
  quoteOf(id: string, given: ChatMessage | null): ChatMessage | null;
  /** Takes the server's newest state of a message. */
  update(message: Message): void;
  changed(what: keyof ConversationSnapshot): void;
  /** Calls `work` once, in some seconds. */
  later(work: () => void): void;
}
