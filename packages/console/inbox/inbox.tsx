import { useInbox } from '@parley/client/react';
import type { ViewFilters } from '@parley/protocol/resources/conversation-view.ts';
import { notifyFailure } from '@parley/ui/feedback/notify.ts';
import { MenuButton, type MenuItem } from '@parley/ui/overlays/menu.tsx';
import { ChevronDown } from 'lucide';
import type { ComponentType } from 'preact';
import { useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import type { FilterDialogProps } from './filter-dialog.tsx';
import { InboxList } from './inbox-list.tsx';
import { type InboxView, VIEWS, viewOf } from './inbox-view.ts';
import { textOf, useListFilters } from './list-filters.ts';
import { useViews } from './use-views.ts';

/** The list of conversations, and the choice of its filters. */
export function Inbox() {
  const { can } = useSignedIn();
  const [filters, choose] = useListFilters();
  const [hasViews, wantViews] = useState(false);
  const [Dialog, setDialog] = useState<ComponentType<FilterDialogProps> | null>(null);
  const [isFiltering, setFiltering] = useState(false);
  const { summary } = useInbox({ pageSize: 1, include: [] });
  const text = textOf(filters);
  const view = viewOf(filters);
  const { views, save, remove } = useViews(hasViews || (view === undefined && can('messaging:read')));
  const saved = views.find((one) => textOf(one.filters) === text);
  const label = saved?.name ?? view?.label ?? texts.inbox.filtered;
  const countOf = ({ count }: InboxView) => (summary === null ? 0 : (count?.(summary) ?? 0));
  const isQuick = view !== undefined && QUICK.has(view.id);
  const more = VIEWS.filter(({ id }) => !QUICK.has(id));
  const filter = async () => {
    const { FilterDialog } = await import('./filter-dialog.tsx');
    setDialog(() => FilterDialog);
    setFiltering(true);
  };
  const items: MenuItem[] = [
    { label: texts.inbox.filterAndSortMore, act: () => void filter().catch(notifyFailure) },
    ...views.map((one, index) => ({
      label: one.name,
      isChosen: one === saved,
      beginsGroup: index === 0,
      act: () => choose(one.filters),
    })),
    ...more.map((one, index) => ({
      label: one.label,
      isChosen: one === view && saved === undefined,
      detail: countOf(one) > 0 ? String(countOf(one)) : undefined,
      beginsGroup: index === 0 || more[index - 1]!.kind !== one.kind,
      act: () => choose(one.query),
    })),
  ];
  return (
    <section class="inbox" aria-label={texts.inbox.conversations}>
      <div class="inbox-views">
        {VIEWS.filter(({ id }) => QUICK.has(id)).map((one) => (
          <button
            key={one.id}
            type="button"
            class="inbox-view"
            aria-pressed={one.id === view?.id}
            onClick={() => choose(one.query)}
          >
            {one.label}
            {countOf(one) > 0 && <span class="inbox-view-count">{countOf(one)}</span>}
          </button>
        ))}
        <MenuButton
          icon={ChevronDown}
          label={isQuick ? texts.inbox.moreViews : texts.inbox.view(label)}
          class={isQuick ? 'inbox-view' : 'inbox-view inbox-view-chosen'}
          items={items}
          onOpen={() => wantViews(true)}
        >
          <span class="one-line">{isQuick ? texts.inbox.more : label}</span>
        </MenuButton>
      </div>
      <div class="inbox-scroll">
        <InboxList key={text} view={view ?? combined(label, filters)} />
      </div>
      {!can('messaging:read') && <p class="inbox-list-none">{texts.inbox.mayNotRead}</p>}
      {isFiltering && Dialog !== null && (
        <Dialog
          filters={filters}
          {...(saved !== undefined && { saved })}
          onChoose={choose}
          onSave={save}
          onRemove={remove}
          onClose={() => setFiltering(false)}
        />
      )}
    </section>
  );
}

function combined(label: string, query: ViewFilters): InboxView {
  return { id: 'combined', label, kind: 'state', query, empty: texts.inbox.empty.combined };
}

/** Views that are one click away. */
const QUICK: ReadonlySet<string> = new Set(['all', 'unread', 'mine']);
