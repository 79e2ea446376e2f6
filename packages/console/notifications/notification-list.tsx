import type { Notification, Notifications } from '@parley/client';
import { dayOf, isSameDay } from '@parley/ui/text/time.ts';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { NotificationRow } from './notification-row.tsx';
import { useMarkSeen } from './use-mark-seen.ts';

export interface NotificationListProps {
  readonly notifications: readonly Notification[];
  readonly live: Notifications | undefined;
  readonly label: string;
  /** Whether a heading stands above each day. */
  readonly hasDays?: boolean;
  /** Called when a notification was opened. */
  readonly onOpen?: () => void;
}

/** Notifications, the newest first. Shown ones count as seen. The arrow keys move through them. */
export function NotificationList(props: NotificationListProps) {
  const { notifications, live, label, hasDays = false, onOpen } = props;
  const [current, setCurrent] = useState<string | null>(null);
  useMarkSeen(notifications, live);
  const stop = notifications.some(({ id }) => id === current) ? current : notifications[0]?.id;
  const days = hasDays ? byDay(notifications) : [notifications];
  return (
    <section
      class="notification-list"
      aria-label={label}
      onKeyDown={moveFocus}
      onFocusCapture={({ target }) => {
        const row = (target as HTMLElement).closest<HTMLElement>('.notification-row');
        if (row !== null) setCurrent(row.dataset.id!);
      }}
    >
      {days.map((rows) => (
        <Fragment key={rows[0]?.created_at.slice(0, 10)}>
          {hasDays && <h2 class="notification-list-day">{dayOf(rows[0]!.created_at)}</h2>}
          <ul>
            {rows.map((notification) => {
              const { id } = notification;
              return (
                <NotificationRow
                  key={id}
                  notification={notification}
                  live={live}
                  onOpen={onOpen}
                  isTabStop={id === stop}
                />
              );
            })}
          </ul>
        </Fragment>
      ))}
    </section>
  );
}

/** Returns the notifications of each day, in their order. */
function byDay(notifications: readonly Notification[]): readonly (readonly Notification[])[] {
  const days: Notification[][] = [];
  for (const notification of notifications) {
    const day = days.at(-1);
    if (day !== undefined && isSameDay(day[0]!.created_at, notification.created_at)) day.push(notification);
    else days.push([notification]);
  }
  return days;
}

function moveFocus(event: KeyboardEvent): void {
  const rows = [
    ...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('.notification-row-link'),
  ];
  const at = rows.findIndex((row) => row.closest('li')!.contains(document.activeElement));
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[pressedKey(event)];
  if (next === undefined) return;
  event.preventDefault();
  rows[Math.max(0, Math.min(next, rows.length - 1))]?.focus();
}
