import type { NotificationQuery } from '@parley/client';
import { useNotifications } from '@parley/client/react';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { failureText } from '@parley/ui/texts/failure-text.ts';
import { useState } from 'preact/hooks';
import { Link } from '../nav/link.tsx';
import { texts } from '../texts/texts.ts';
import { NotificationList } from './notification-list.tsx';
import { KINDS } from './notification-words.ts';
import { useUnreadFeed } from './use-unread-feed.ts';

type Shown = keyof typeof texts.notifications.shown;

/** All of the caller's notifications, live. */
export function NotificationsPage() {
  const [shown, setShown] = useState<Shown>('all');
  const [category, setCategory] = useState('');
  const query = category === '' ? {} : { category };
  return (
    <div class="notifications-page">
      <Head />
      <div class="notifications-page-filters">
        <fieldset aria-label={texts.notifications.show} class="notifications-page-choices">
          {(Object.entries(texts.notifications.shown) as [Shown, string][]).map(([key, label]) => (
            <Button key={key} aria-pressed={shown === key} onClick={() => setShown(key)}>
              {label}
            </Button>
          ))}
        </fieldset>
        <select
          aria-label={texts.notifications.kind}
          value={category}
          onChange={(event) => setCategory(event.currentTarget.value)}
        >
          <option value="">{texts.notifications.allKinds}</option>
          {Object.entries(KINDS).map(([key, { label }]) => (
            <option key={key} value={key}>
              {label}
            </option>
          ))}
        </select>
      </div>
      {shown === 'unread' ? (
        <Unread category={category} />
      ) : (
        <Feed query={shown === 'all' ? query : { ...query, status: shown }} />
      )}
    </div>
  );
}

function Head() {
  const { summary, live } = useNotifications();
  const { isBusy, problem, run } = useAction();
  const unread = summary?.unread ?? 0;
  return (
    <header class="notifications-page-head">
      <h1>{texts.notifications.notifications}</h1>
      <p role="status">{unread === 0 ? texts.notifications.allRead : texts.notifications.unread(unread)}</p>
      <Link to={{ main: { at: 'settings' } }}>{texts.notifications.settings}</Link>
      {unread > 0 && (
        <Button disabled={isBusy} onClick={() => run(() => live!.markAll('read'))}>
          {texts.notifications.markAll}
        </Button>
      )}
      <Problem text={problem} />
    </header>
  );
}

function Feed({ query }: { readonly query: NotificationQuery }) {
  const { notifications, hasMore, status, error, live } = useNotifications(query);
  return (
    <Rows
      notifications={notifications}
      hasMore={hasMore}
      status={status}
      error={error}
      live={live}
      loadMore={() => live!.loadMore()}
    />
  );
}

function Unread({ category }: { readonly category: string }) {
  return <Rows {...useUnreadFeed(category)} />;
}

type RowsProps = ReturnType<typeof useUnreadFeed>;

function Rows({ notifications, hasMore, status, error, live, loadMore }: RowsProps) {
  const { isBusy, problem, run } = useAction();
  if (notifications.length === 0 && !hasMore) {
    return (
      <p class="notifications-page-empty">
        {status === 'error'
          ? error && failureText(error)
          : status === 'loading'
            ? texts.notifications.loading
            : texts.notifications.nothing}
      </p>
    );
  }
  return (
    <>
      <NotificationList
        notifications={notifications}
        live={live}
        label={texts.notifications.notifications}
        hasDays
      />
      {hasMore && (
        <Button class="notifications-page-more" disabled={isBusy} onClick={() => run(loadMore)}>
          {texts.notifications.showEarlier}
        </Button>
      )}
      <Problem text={problem} />
    </>
  );
}
