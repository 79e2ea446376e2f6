import { useInbox } from '@parley/client/react';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { Search, SquarePen } from 'lucide';
import { useEffect } from 'preact/hooks';
import { useListFilters } from '../inbox/list-filters.ts';
import { Link } from '../nav/link.tsx';
import { go } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';

export interface HomePageProps {
  /** Whether to go on to the newest conversation. */
  readonly opensNewest: boolean;
  readonly onFind: () => void;
  readonly onNew: () => void;
  readonly onHelp: () => void;
}

/** The main part beside the list while no conversation is open: what is new, and what to do. */
export function HomePage({ opensNewest, onFind, onNew, onHelp }: HomePageProps) {
  const { can } = useSignedIn();
  const { conversations, summary, status } = useInbox({ pageSize: 1, include: [] });
  const isNew = status === 'ready' && conversations.length === 0;
  const newest = conversations[0]?.id;
  useEffect(() => {
    if (opensNewest && newest !== undefined)
      go({ main: { at: 'conversation', id: newest } }, { replace: true });
  }, [opensNewest, newest]);
  return (
    <section class="home-page" aria-labelledby="home-title">
      <h1 id="home-title">{isNew ? texts.shell.welcome : texts.shell.inbox}</h1>
      {isNew ? <p>{texts.shell.noConversation}</p> : summary !== null && <Numbers summary={summary} />}
      <div class="home-page-acts">
        {can('messaging:create') && (
          <Button {...(isNew && { look: 'primary' as const })} icon={SquarePen} onClick={onNew}>
            {texts.shell.begin}
          </Button>
        )}
        <Button icon={Search} onClick={onFind}>
          {isNew ? texts.shell.findPeople : texts.shell.findAny}
        </Button>
        <Button look="plain" onClick={onHelp}>
          {texts.shell.keyboard} <kbd>?</kbd>
        </Button>
      </div>
    </section>
  );
}

function Numbers({ summary }: { readonly summary: InboxSummary }) {
  const [, choose] = useListFilters();
  const { unread, mine, work } = summary;
  if (unread + mine + (work?.count ?? 0) === 0) return <p>{texts.shell.nothingWaits}</p>;
  return (
    <ul class="home-page-numbers">
      {unread > 0 && (
        <li>
          <button type="button" onClick={() => choose({ filter: ['unread'] })}>
            {texts.shell.unread(<b>{unread}</b>)}
          </button>
        </li>
      )}
      {work !== undefined && work.count > 0 && (
        <li>
          <Link to={{ main: { at: 'work' } }}>
            {texts.shell.waitsForYou(work.count, <b>{work.count}</b>)}
            {work.unassigned > 0 && texts.shell.withoutOwner(work.unassigned)}
          </Link>
        </li>
      )}
      {mine > 0 && (
        <li>
          <button type="button" onClick={() => choose({ filter: ['mine'] })}>
            {texts.shell.openCases(mine, <b>{mine}</b>)}
          </button>
        </li>
      )}
    </ul>
  );
}
