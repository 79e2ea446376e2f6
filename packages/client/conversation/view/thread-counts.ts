import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Thread } from '@parley/protocol/resources/thread.ts';

/**
 * The counts of a thread between two answers of the server, from arriving replies. `replies` are
 * the shown ones in order, the newest at least.
 */

type Reply = Pick<
  ChatMessage,
  'id' | 'sequence' | 'sender_id' | 'author_id' | 'sent_at' | 'created_at' | 'deleted_at' | 'sender'
>;

export function emptyThread(message_id: string): Thread {
  return { object: 'thread', message_id, reply_count: 0, last_reply: null, unread: 0 };
}

/** Returns the thread with the replies behind its last one counted. */
export function withNewReplies(thread: Thread, replies: readonly Reply[], ownId: string): Thread {
  const last = thread.last_reply?.sequence ?? 0;
  const news = replies.filter((reply) => reply.sequence! > last && isThere(reply));
  if (news.length === 0) return thread;
  return {
    ...thread,
    reply_count: thread.reply_count + news.length,
    last_reply: lastReplyOf(news),
    unread: thread.unread + news.filter((reply) => isOf(reply, ownId)).length,
  };
}

/** Returns the thread without a deleted reply, which `replies` has as a tombstone. */
export function withoutReply(thread: Thread, gone: Reply, replies: readonly Reply[], ownId: string): Thread {
  const left = replies.filter(isThere);
  const newer = left.filter((reply) => reply.sequence! > gone.sequence! && isOf(reply, ownId));
  // While counted replies are not shown, only `withReadThrough` lowers the unread count.
  const wasUnread = isOf(gone, ownId) && newer.length < thread.unread && !isAhead(thread, replies);
  return {
    ...thread,
    reply_count: Math.max(left.length, thread.reply_count - 1),
    last_reply: thread.last_reply?.id === gone.id ? lastReplyOf(left) : thread.last_reply,
    unread: thread.unread - (wasUnread ? 1 : 0),
  };
}

/** Returns the thread for a reader who has read up to a number. */
export function withReadThrough(
  thread: Thread,
  replies: readonly Reply[],
  through: number,
  ownId: string,
): Thread {
  const there = replies.filter(isThere);
  const hasAllBehind = there.length >= thread.reply_count || through >= (replies[0]?.sequence ?? 0);
  const isKnown =
    through >= (thread.last_reply?.sequence ?? 0) || (hasAllBehind && !isAhead(thread, replies));
  const behind = there.filter((reply) => reply.sequence! > through && isOf(reply, ownId));
  return isKnown && behind.length < thread.unread ? { ...thread, unread: behind.length } : thread;
}

/**
 * Returns whether the server has counted replies behind the shown ones: they are still on their
 * way, or the timeline ends before them.
 */
function isAhead({ last_reply }: Thread, replies: readonly Reply[]): boolean {
  return (last_reply?.sequence ?? 0) > (replies.at(-1)?.sequence ?? 0);
}

function isThere({ deleted_at }: Reply): boolean {
  return deleted_at === null;
}

/** Returns whether another actor wrote it. */
function isOf({ author_id, sender }: Reply, ownId: string): boolean {
  return (author_id ?? sender?.id) !== ownId;
}

function lastReplyOf(replies: readonly Reply[]): Thread['last_reply'] {
  const last = replies.at(-1);
  if (last === undefined) return null;
  const { id, sequence, sender_id = null, author_id = null, sent_at, created_at } = last;
  return { id, sequence: sequence!, sender_id, author_id, at: sent_at ?? created_at };
}
