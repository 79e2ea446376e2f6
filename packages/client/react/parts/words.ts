/** The words of the parts, in English. */
export const ENGLISH = {
  attach: 'Attach files',
  cancel: 'Cancel',
  close: 'Close',
  conversation: 'Conversation',
  conversations: 'Conversations',
  delete: 'Delete',
  deleted: 'This message was deleted.',
  discard: 'Discard',
  dropFiles: 'Drop files to attach them',
  edit: 'Edit',
  edited: 'edited',
  editing: 'Editing a message',
  ended: 'You can no longer read this conversation.',
  files: 'Files',
  loading: 'Loading …',
  markAllRead: 'Mark all as read',
  message: 'Message',
  messages: 'Messages',
  more: 'Show more',
  newest: 'Newest messages',
  newMessages: (count: number): string => (count === 1 ? '1 new message' : `${count} new messages`),
  noConversations: 'No conversations yet.',
  noMessages: 'No messages yet.',
  noNotifications: 'No notifications.',
  notifications: 'Notifications',
  notSent: 'Not sent.',
  older: 'Older messages',
  people: 'People',
  react: (emoji: string): string => `React with ${emoji}`,
  removeFile: (name: string): string => `Remove ${name}`,
  replies: (count: number): string => (count === 1 ? '1 reply' : `${count} replies`),
  reply: 'Reply',
  retry: 'Try again',
  send: 'Send',
  save: 'Save',
  sending: 'Sending …',
  somebody: 'Somebody',
  thread: 'Thread',
  typing: (names: readonly string[]): string =>
    `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} typing …`,
  unread: 'New',
  unreadCount: (count: number): string => `${count} unread`,
  uploaded: (percent: number): string => `${percent} % uploaded`,
  writeMessage: 'Write a message',
};

/** The words of the parts. */
export type Words = typeof ENGLISH;

/** The properties that all parts have. */
export interface PartProps {
  /** Words in place of the English ones. */
  readonly words?: Partial<Words> | undefined;
  /** The language of days and times (BCP 47); that of the platform by default. */
  readonly locale?: string | undefined;
  /** The time zone of days and times (IANA); that of the platform by default. */
  readonly timeZone?: string | undefined;
}

/** Returns all words, those that are given in place of the English ones. */
export function wordsOf(words: Partial<Words> | undefined): Words {
  return words === undefined ? ENGLISH : { ...ENGLISH, ...words };
}
