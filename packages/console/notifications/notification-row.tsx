import type { Notification, Notifications } from '@parley/client';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { IconButton } from '@parley/ui/elements/button.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { fullTimeOf, shortTimeOf } from '@parley/ui/text/time.ts';
import { Check, X } from 'lucide';
import { memo } from 'preact/compat';
import { Link } from '../nav/link.tsx';
import { texts } from '../texts/texts.ts';
import { placeOf } from './notification-place.ts';
import { kindOf } from './notification-words.ts';

export interface NotificationRowProps {
  readonly notification: Notification;
  readonly live: Notifications | undefined;
  /** Whether the Tab key leads to it: to one row of the list. */
  readonly isTabStop: boolean;
  /** Called when it was opened. */
  readonly onOpen: (() => void) | undefined;
}

/** Returns whether a notification was not opened yet. */
function isUnread({ status }: Notification): boolean {
  return status === 'unseen' || status === 'seen';
}

/** A notification in a list: who, what and when. Only its own changes draw it again. */
export const NotificationRow = memo(function NotificationRow(props: NotificationRowProps) {
  const { notification, live, isTabStop, onOpen } = props;
  const { id, category, title, body, created_at: at, status, priority } = notification;
  const unread = isUnread(notification);
  const { isWork = false, label } = kindOf(category);
  const place = placeOf(notification);
  // A failed change leaves the notification as it was, and can be done again.
  const mark = (move: 'markRead' | 'dismiss') => void live?.[move](id).catch(() => {});
  const open = () => {
    if (unread) mark('markRead');
    onOpen?.();
  };
  const tabIndex = isTabStop ? 0 : -1;
  const content = (
    <>
      <Picture notification={notification} />
      <span class="notification-row-title" title={title}>
        {unread && <span class="hidden-visually">{texts.notifications.isUnread}</span>}
        {priority === 'high' && <span class="notification-row-high">{texts.notifications.important}</span>}
        {title}
      </span>
      <time class="notification-row-time" dateTime={at} title={fullTimeOf(at)}>
        {shortTimeOf(at)}
      </time>
      <span class="notification-row-body">{body === null ? label : body}</span>
    </>
  );
  return (
    <li class="notification-row" data-id={id} data-unread={unread}>
      {place === null ? (
        <button type="button" class="notification-row-link" tabIndex={tabIndex} onClick={open}>
          {content}
        </button>
      ) : (
        <Link to={place} class="notification-row-link" tabIndex={tabIndex} onClick={open}>
          {content}
        </Link>
      )}
      <span class="notification-row-actions">
        {unread && (
          <IconButton
            icon={Check}
            label={texts.notifications.markRead}
            tabIndex={tabIndex}
            onClick={() => mark('markRead')}
          />
        )}
        {!isWork && status !== 'dismissed' && (
          <IconButton
            icon={X}
            label={texts.notifications.putAway}
            tabIndex={tabIndex}
            onClick={() => mark('dismiss')}
          />
        )}
      </span>
    </li>
  );
});

function Picture({ notification: { sender, category } }: { readonly notification: Notification }) {
  const kind = kindOf(category);
  return (
    <span class="notification-row-picture">
      {sender === null ? (
        <span class="notification-row-icon">
          <Icon of={kind.icon} />
        </span>
      ) : (
        <>
          <Avatar name={sender.name ?? ''} url={sender.avatar_url} size={36} />
          <span class="notification-row-kind">
            <Icon of={kind.icon} size={11} />
          </span>
        </>
      )}
    </span>
  );
}
