import type { SentMessage } from '@parley/client';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { shortTimeOf } from '@parley/ui/text/time.ts';
import { MessagesSquare } from 'lucide';
import { showPane } from '../nav/place.ts';
import { texts } from '../texts/texts.ts';

/** The number of replies to a message, which opens them. */
export function MessageThread({ message: { id, thread } }: { readonly message: SentMessage }) {
  if (!thread || thread.reply_count === 0) return null;
  const { reply_count: count, last_reply: last, unread } = thread;
  return (
    <button type="button" class="message-thread" onClick={() => showPane({ shows: 'thread', id })}>
      <Icon of={MessagesSquare} size={14} />
      <b>{texts.message.replies(count)}</b>
      {unread > 0 && <span class="message-thread-unread">{texts.message.newReplies(unread)}</span>}
      {last !== null && <small>{shortTimeOf(last.at)}</small>}
    </button>
  );
}
