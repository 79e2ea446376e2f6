/**
 * The parts that a page loads when it uses them. A client loads all of them once it is connected,
 * because a page may first use one while no server answers, and Firefox never again asks for a
 * module that could not be loaded.
 */

export { ConversationView } from './conversation/view/conversation-view.ts';
export { InboxReader } from './inbox/inbox-reader.ts';
export { HttpSocket } from './link/http/http-socket.ts';
export { NotificationFeed } from './notifications/notification-feed.ts';
export { PresenceTracker } from './people/presence-tracker.ts';
export { readState } from './push/browser-push.ts';
export { importArchive } from './rest/import-archive.ts';
export { upload } from './rest/upload.ts';
export { FollowedRun } from './runs/followed-run.ts';
