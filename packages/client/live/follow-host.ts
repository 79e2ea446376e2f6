import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { EventFrame } from '@parley/protocol/socket/events.ts';
import type { LiveConversation } from '../conversation/live-conversation.ts';
import type { Timeline } from '../conversation/view/timeline.ts';
import type { ClientState, ConversationSubscription, SubscribeOptions } from '../events/client-events.ts';
import type { InboxQuery, InboxSnapshot } from '../inbox/inbox-snapshot.ts';
import type { Transport } from '../link/transport.ts';
import type { Fetch } from '../rest/pages.ts';
import type { Timing } from '../timing/timing.ts';
import type { PartOwner } from './loaded-object.ts';

/** Shows what was kept on the device until the server has answered, and keeps what it answers. */
export interface KeptPages {
  inbox(query: InboxQuery, set: OpenInbox['set']): OpenInbox;
  /** Returns the function to be called at the end. */
  conversation(live: LiveConversation, timeline: Pick<Timeline, 'kept' | 'touch'>): () => void;
}

/** An inbox whose rows are kept. */
export interface OpenInbox {
  /** In place of the inbox's own. */
  readonly set: PartOwner<InboxSnapshot>['set'];
  readonly close?: () => void;
}

/** The client of an object that follows events. */
export interface FollowHost {
  readonly fetch: Fetch;
  /** What is kept on the device, where the page asks for that. */
  pages?: KeptPages | undefined;
  readonly timing: Timing;
  /** Aborts when the client is closed, which closes all that follows it. */
  readonly closing: AbortSignal;
  readonly actors: FollowedActors;
  /** The caller; undefined until the first connection. */
  actor(): Actor | undefined;
  state(): ClientState;
  /** The transport; between two polls, events that are not kept are lost. */
  transport(): Transport | null;
  /** The functions that these return remove the listener. */
  onState(listener: (state: ClientState) => void): () => void;
  /** The own feed has a gap. */
  onStale(listener: () => void): () => void;
  /** Every event that arrives, of the own feed and of conversations; some more than once. */
  onFrame(listener: (frame: EventFrame) => void): () => void;
  /** A request of this client has changed the conversation, or moved the caller's read position. */
  onTouched(listener: (conversationId: string, isRead: boolean) => void): () => void;
  /**
   * This client is moving the caller's read position to a number; to 0 where that was refused, and
   * the position is where it was.
   */
  onReading(listener: (conversationId: string, through: number) => void): () => void;
  subscribe(conversationId: string, options: SubscribeOptions): ConversationSubscription;
}

/** The actors that the client knows, of KnownPeople. */
interface FollowedActors {
  get(id: string): Actor | undefined;
  onLearned(listener: (id: string) => void): () => void;
}

/** Returns whether events of the own feed arrive. */
export function isAttached(state: ClientState): boolean {
  return state === 'live' || state === 'catching_up';
}

/**
 * Resolves once events arrive, or after a second: a list is shown where no connection can be made.
 */
export function attached({ timing, state, onState }: FollowHost): Promise<void> {
  return new Promise((resolve) => {
    if (isAttached(state())) {
      resolve();
      return;
    }
    const over = () => {
      cancel();
      remove();
      resolve();
    };
    const cancel = timing.after(PATIENCE_MS, over);
    const remove = onState((next) => {
      if (isAttached(next)) over();
    });
  });
}

const PATIENCE_MS = 1_000;
