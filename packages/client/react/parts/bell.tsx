import { type KeyboardEvent, type ReactElement, useEffect, useId, useRef, useState } from 'react';
import type { Notification, NotificationQuery } from '../../index.ts';
import { useNotifications } from '../index.ts';
import { moveFocus } from './move-focus.ts';
import { Time } from './times.tsx';
import { type PartProps, wordsOf } from './words.ts';

/** The properties of a bell. */
export interface BellProps extends PartProps {
  /** Which notifications it has; all of the caller by default. */
  readonly query?: NotificationQuery | undefined;
  /** Called with the notification that the person chose; it is marked read. */
  readonly onOpen: (notification: Notification) => void;
}

/** A button with the number of unread notifications, and their list. */
export function Bell(props: BellProps): ReactElement {
  const { query, onOpen, ...look } = props;
  const { notifications, hasMore, summary, status, live } = useNotifications(query);
  const words = wordsOf(look.words);
  const [isOpen, setOpen] = useState(false);
  const panelId = useId();
  const root = useRef<HTMLElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const unread = summary?.unread ?? 0;
  useEffect(() => {
    if (!isOpen) return;
    const close = ({ target }: PointerEvent) => {
      if (!(target instanceof Node && root.current?.contains(target))) setOpen(false);
    };
    document.addEventListener('pointerdown', close);
    return () => document.removeEventListener('pointerdown', close);
  }, [isOpen]);
  const pressed = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key !== 'Escape') return moveFocus(event, '.parley-notification');
    setOpen(false);
    button.current?.focus();
  };
  const open = (notification: Notification) => {
    setOpen(false);
    live?.markRead(notification.id).catch(() => {});
    onOpen(notification);
  };
  return (
    <section className="parley-bell" ref={root} aria-label={words.notifications} onKeyDown={pressed}>
      <button
        ref={button}
        type="button"
        className="parley-bell-button"
        aria-expanded={isOpen}
        aria-controls={isOpen ? panelId : undefined}
        aria-label={`${words.notifications}, ${words.unreadCount(unread)}`}
        onClick={() => setOpen(!isOpen)}
      >
        <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
          <path d="M6 9a6 6 0 0 1 12 0c0 6 2 7 2 7H4s2-1 2-7m4 11h4" />
        </svg>
        {unread > 0 && (
          <span className="parley-badge" aria-hidden="true">
            {unread}
          </span>
        )}
      </button>
      {isOpen && (
        <div className="parley-bell-panel" id={panelId}>
          {unread > 0 && (
            <button
              type="button"
              className="parley-more"
              onClick={() => live?.markAll('read').catch(() => {})}
            >
              {words.markAllRead}
            </button>
          )}
          {notifications.map((notification) => (
            <button
              key={notification.id}
              type="button"
              className="parley-notification"
              data-unread={notification.status === 'unseen' || notification.status === 'seen'}
              onClick={() => open(notification)}
            >
              <span dir="auto">{notification.title}</span>
              <Time at={notification.created_at} {...look} />
              <span dir="auto">{notification.body}</span>
            </button>
          ))}
          {notifications.length === 0 && (
            <p className="parley-empty">{status === 'loading' ? words.loading : words.noNotifications}</p>
          )}
          {hasMore && (
            <button type="button" className="parley-more" onClick={() => live?.loadMore().catch(() => {})}>
              {words.more}
            </button>
          )}
        </div>
      )}
    </section>
  );
}
