import type {
  ConversationSnapshot,
  ThreadSnapshot,
  WindowSnapshot,
} from '../conversation/view/conversation-snapshot.ts';
import type { InboxSnapshot } from '../inbox/inbox-snapshot.ts';
import type { ConnectionSnapshot } from '../live/connection-status.ts';
import type { NotificationsSnapshot } from '../notifications/feed-snapshot.ts';
import type { PresenceSnapshot } from '../people/presence-snapshot.ts';
import type { RunSnapshot } from '../runs/run-snapshot.ts';

/** Snapshots of what is not open: on a server, and until a component is mounted. */

export const BEFORE_CONVERSATION: ConversationSnapshot = {
  ...{ status: 'loading', end: null, conversation: null },
  ...{ messages: [], hasOlder: false, typing: [], pins: [], drafts: [], scheduled: [] },
  ...{ presence: new Map(), reads: new Map(), people: { get: () => undefined } },
};

export const BEFORE_THREAD: ThreadSnapshot = {
  ...{ status: 'loading', root: null, messages: [], hasOlder: false, end: null },
};

export const BEFORE_WINDOW: WindowSnapshot = {
  ...{ status: 'loading', messages: [], hasOlder: false, hasNewer: false, end: null },
};

export const BEFORE_INBOX: InboxSnapshot = {
  ...{ status: 'loading', error: null, conversations: [], hasMore: false, summary: null },
};

export const BEFORE_NOTIFICATIONS: NotificationsSnapshot = {
  ...{ status: 'loading', error: null, notifications: [], hasMore: false, summary: null },
};

export const BEFORE_PRESENCE: PresenceSnapshot = { status: 'loading', error: null, presence: new Map() };

export const BEFORE_RUN: RunSnapshot = {
  ...{ status: 'loading', error: null, run: null, text: '', messageId: null },
  ...{ steps: [], actions: [], waiting: [], costUsd: null },
};

export const BEFORE_CONNECTION: ConnectionSnapshot = {
  state: 'connecting',
  transport: null,
  error: null,
  unsent: 0,
};
