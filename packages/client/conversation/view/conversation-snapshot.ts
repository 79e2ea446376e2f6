import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import type { PresenceStatus } from '@parley/protocol/resources/activity.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Pin } from '@parley/protocol/resources/pin.ts';
import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import { ParleyError, refusal } from '../../errors/parley-error.ts';
import type { SentMessage, TimelineMessage } from './timeline.ts';

/** The cause of a conversation's end: the server's refusal, or `revoked` for a lost right. */
export type ConversationEnd = ErrorObject | 'revoked';

/** The read position of an actor. */
export interface ReadPosition {
  /** The member that has read. */
  readonly actor: Actor;
  /** The number of the last message that it has read. */
  readonly sequence: number;
}

/** Actors by id, for the ids that messages name: reactions, mentions, editors, pins. */
export interface People {
  /** Returns the actor; undefined until a change of `people` announces it. */
  get(id: string): Actor | undefined;
}

/**
 * A conversation as it is now. `conversation`, `reads`, `pins`, `drafts` and `scheduled` are read
 * from the server when a page reads them first; until then they are empty.
 */
export interface ConversationSnapshot {
  /** `ready` once the newest messages are there; `ended` when it cannot be read any more. */
  readonly status: 'loading' | 'ready' | 'ended';
  /** Why it ended; null otherwise. */
  readonly end: ConversationEnd | null;
  /** The server's messages, then local echoes, in order. */
  readonly messages: readonly TimelineMessage[];
  /** Whether `loadOlder` may find more. */
  readonly hasOlder: boolean;
  /** The resource with its participants, assignee, group and topic; null until it was read. */
  readonly conversation: Conversation | null;
  /** The other actors that are typing; nameless until they are known. */
  readonly typing: readonly Actor[];
  /** `online` or `away` by the id of the actor; all others are offline. */
  readonly presence: ReadonlyMap<string, PresenceStatus>;
  /** Read positions of the members, by the id of the actor. */
  readonly reads: ReadonlyMap<string, ReadPosition>;
  /** The pinned messages, the last pinned first. */
  readonly pins: readonly Pin[];
  /** The reply drafts that wait for approval, in the order of their creation. */
  readonly drafts: readonly ChatMessage[];
  /** The scheduled messages that the caller sees, in the order in which they are due. */
  readonly scheduled: readonly ChatMessage[];
  /** The actors behind the ids that messages name. */
  readonly people: People;
}

/** The replies to one message as they are now. */
export interface ThreadSnapshot {
  /** `ready` once the newest replies are there; `ended` when they cannot be read any more. */
  readonly status: 'loading' | 'ready' | 'ended';
  /** Why it ended; null otherwise. */
  readonly end: ConversationEnd | null;
  /** The message that is replied to; its `thread` has the counts. Null until it was read. */
  readonly root: SentMessage | null;
  /** The replies that were sent, then local echoes, in order. Deleted ones are left out. */
  readonly messages: readonly TimelineMessage[];
  /** Whether `loadOlder` may find more. */
  readonly hasOlder: boolean;
}

/** The messages around one message as they are now. */
export interface WindowSnapshot {
  /** `ready` once the messages are there; `ended` when they cannot be read (any more). */
  readonly status: 'loading' | 'ready' | 'ended';
  /** Why it ended; null otherwise. */
  readonly end: ConversationEnd | null;
  /** The server's messages in order, and behind the newest one local echoes. */
  readonly messages: readonly TimelineMessage[];
  /** Whether `loadOlder` may find more. */
  readonly hasOlder: boolean;
  /** Whether `loadNewer` may find more; if not, new messages are added as they arrive. */
  readonly hasNewer: boolean;
}

/** The events of a thread and of a window beside `change`. */
export type ThreadEvents = {
  /** The messages cannot be read (any more) and are dropped. */
  readonly end: readonly [why: ConversationEnd];
};

/** The events of a conversation beside `change`. */
export type ConversationEvents = {
  /** Every event besides messages and activity, such as `participant.added`. */
  readonly event: readonly [frame: EventOf];
  /** The conversation cannot be read (any more); its messages are dropped. */
  readonly end: readonly [why: ConversationEnd];
};

/** The parts of a snapshot that are read when a page reads them first. */
export type Part = 'conversation' | 'pins' | 'drafts' | 'scheduled';

/** Returns a snapshot of these values that asks for each part when it is read. */
export function askingSnapshot(
  values: ConversationSnapshot,
  ask: (part: Part) => void,
): ConversationSnapshot {
  const snapshot = { ...values };
  for (const key of ['conversation', 'reads', 'pins', 'drafts', 'scheduled'] as const) {
    const get = () => {
      // Participants carry the read positions.
      ask(key === 'reads' ? 'conversation' : key);
      return values[key];
    };
    Object.defineProperty(snapshot, key, { get, enumerable: true });
  }
  return snapshot;
}

/** Returns the error for calls that wait when a conversation ends. */
export function endError(why: ConversationEnd): ParleyError {
  if (why !== 'revoked') return refusal(why);
  return new ParleyError('resource_not_found', 'The conversation can no longer be read.');
}
