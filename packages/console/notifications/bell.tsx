import { useNotifications } from '@parley/client/react';
import { Button } from '@parley/ui/elements/button.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { Popover } from '@parley/ui/overlays/popover.tsx';
import { failureText } from '@parley/ui/texts/failure-text.ts';
import { Bell as BellIcon } from 'lucide';
import { useRef, useState } from 'preact/hooks';
import { Link } from '../nav/link.tsx';
import { texts } from '../texts/texts.ts';
import { NotificationList } from './notification-list.tsx';
import { useArrivals } from './use-arrivals.ts';
import { usePushHere } from './use-push-here.ts';

const NEWEST = { pageSize: 10 } as const;

/** The button with the number of unread notifications, which shows the newest ones. */
export function Bell() {
  const { summary } = useNotifications(NEWEST);
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const newest = useArrivals();
  usePushHere();
  const unread = summary?.unread ?? 0;
  const shown = unread > MOST_SHOWN ? `${MOST_SHOWN}+` : String(unread);
  const name =
    unread === 0 ? texts.notifications.notifications : texts.notifications.notificationsUnread(shown);
  return (
    <>
      <button
        ref={button}
        type="button"
        class="icon-button bell"
        aria-label={name}
        title={name}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon of={BellIcon} />
        {unread > 0 && (
          <span class="bell-count" aria-hidden="true">
            {shown}
          </span>
        )}
      </button>
      <span class="hidden-visually" role="status">
        {newest}
      </span>
      {isOpen && (
        <Popover
          anchor={button.current!}
          label={texts.notifications.notifications}
          class="bell-popover"
          onClose={() => setOpen(false)}
        >
          <Newest onClose={() => setOpen(false)} />
        </Popover>
      )}
    </>
  );
}

function Newest({ onClose }: { readonly onClose: () => void }) {
  const { notifications, summary, status, error, live } = useNotifications(NEWEST);
  return (
    <>
      <div class="bell-head">
        <h2>{texts.notifications.notifications}</h2>
        {(summary?.unread ?? 0) > 0 && (
          <Button look="plain" onClick={() => void live?.markAll('read').catch(() => {})}>
            {texts.notifications.markAll}
          </Button>
        )}
      </div>
      {notifications.length === 0 ? (
        <p class="bell-empty">
          {status === 'error'
            ? error && failureText(error)
            : status === 'loading'
              ? texts.notifications.loading
              : texts.notifications.nothingNew}
        </p>
      ) : (
        <NotificationList
          notifications={notifications}
          live={live}
          label={texts.notifications.newest}
          onOpen={onClose}
        />
      )}
      <div class="bell-foot">
        <Link to={{ main: { at: 'notifications' } }} onClick={onClose}>
          {texts.notifications.all}
        </Link>
        <Link to={{ main: { at: 'settings' } }} onClick={onClose}>
          {texts.notifications.settings}
        </Link>
      </div>
    </>
  );
}

const MOST_SHOWN = 99;
