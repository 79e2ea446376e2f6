import { useInbox } from '@parley/client/react';
import { MenuButton } from '@parley/ui/overlays/menu.tsx';
import { ChevronDown } from 'lucide';
import { useSignedIn } from '../session/session-context.tsx';
import { InboxList } from './inbox-list.tsx';
import { type InboxView, VIEWS, viewOf } from './inbox-view.ts';
import { useKept } from './kept.ts';

/** The list of conversations, and the choice of its view. */
export function Inbox() {
  const { can } = useSignedIn();
  const [kept, keep] = useKept('inbox-view');
  const { summary } = useInbox({ pageSize: 1, include: [] });
  const view = viewOf(kept);
  const countOf = ({ count }: InboxView) => (summary === null ? 0 : (count?.(summary) ?? 0));
  const isQuick = QUICK.has(view.id);
  const more = VIEWS.filter(({ id }) => !QUICK.has(id));
  return (
    <section class="inbox" aria-label="Conversations">
      <div class="inbox-views">
        {VIEWS.filter(({ id }) => QUICK.has(id)).map((one) => (
          <button
            key={one.id}
            type="button"
            class="inbox-view"
            aria-pressed={one.id === view.id}
            onClick={() => keep(one.id)}
          >
            {one.label}
            {countOf(one) > 0 && <span class="inbox-view-count">{countOf(one)}</span>}
          </button>
        ))}
        <MenuButton
          icon={ChevronDown}
          label={isQuick ? 'More views' : `View: ${view.label}`}
          class={isQuick ? 'inbox-view' : 'inbox-view inbox-view-chosen'}
          items={more.map((one, index) => ({
            label: one.label,
            isChosen: one.id === view.id,
            detail: countOf(one) > 0 ? String(countOf(one)) : undefined,
            beginsGroup: index > 0 && more[index - 1]!.kind !== one.kind,
            act: () => keep(one.id),
          }))}
        >
          {isQuick ? 'More' : view.label}
        </MenuButton>
      </div>
      <div class="inbox-scroll">
        <InboxList key={view.id} view={view} />
      </div>
      {!can('messaging:read') && <p class="inbox-list-none">You may not read conversations.</p>}
    </section>
  );
}

/** Views that are one click away. */
const QUICK: ReadonlySet<string> = new Set(['all', 'unread', 'mine']);
