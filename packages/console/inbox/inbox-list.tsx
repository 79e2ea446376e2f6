import { useInbox, usePresence } from '@parley/client/react';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { notifyFailure } from '@parley/ui/feedback/notify.ts';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { failureText } from '@parley/ui/texts/failure-text.ts';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import type { ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { nameOf } from '../names/conversation-name.ts';
import { usePlace } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import type { BulkBarProps } from './bulk-bar.tsx';
import { InboxRow } from './inbox-row.tsx';
import type { InboxView } from './inbox-view.ts';
import { queryOf } from './list-filters.ts';
import { setListed } from './listed.ts';
import { useNeighbourKeys } from './neighbour-keys.ts';
import { useActions } from './use-actions.tsx';
import { useMentioned } from './use-mentioned.ts';
import { useRowFocus } from './use-row-focus.ts';
import { useSelection } from './use-selection.ts';

/** The conversations of a view, by activity, with the actions on each. */
export function InboxList({ view }: { readonly view: InboxView }) {
  const { me } = useSignedIn();
  const { conversations, hasMore, status, error, live } = useInbox(queryOf(view.query));
  const { main } = usePlace();
  const myId = me.actor.id;
  const openId = main.at === 'conversation' ? main.id : null;
  const mentioned = useMentioned();
  const others = useMemo(
    () => conversations.flatMap((one) => nameOf(one, myId).otherId ?? []).slice(0, MOST_PRESENT),
    [conversations, myId],
  );
  const { presence } = usePresence(others);
  const { actionsOn, showMenu, overlays } = useActions();
  const list = useRef<HTMLUListElement>(null);
  const ids = conversations.map(({ id }) => id);
  const { tabStop, onKeyDown } = useRowFocus(list, ids, openId);
  useNeighbourKeys(ids, openId);
  useLayoutEffect(() => setListed(ids));
  const { selected, toggle, set } = useSelection(ids);
  const Bar = useBulkBar(selected.size > 0);

  const openMenu = useEvent((conversation: Conversation, anchor: HTMLElement) => {
    showMenu({ anchor, label: texts.inbox.actions, items: actionsOn(conversation, anchor) });
  });
  const press = (event: KeyboardEvent) => {
    onKeyDown(event);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = (event.target as HTMLElement).closest<HTMLElement>('.inbox-row');
    const conversation = conversations.find(({ id }) => id === row?.dataset.id);
    if (row === null || conversation === undefined) return;
    const pressed = pressedKey(event);
    if (pressed === 'F10' && event.shiftKey) openMenu(conversation, row);
    else if (pressed.toLowerCase() === 'x') toggle(conversation.id, event.shiftKey);
    else if (pressed === 'Escape' && selected.size > 0) set([]);
    else {
      const action = actionsOn(conversation, row).find(({ detail }) => detail === pressed);
      if (action === undefined) return;
      action.act();
    }
    event.preventDefault();
  };

  if (status === 'loading') return <RowsLoading />;
  if (status === 'error') {
    return (
      <p class="inbox-list-none" role="alert">
        {texts.inbox.notLoaded(error ? failureText(error) : '')}
      </p>
    );
  }
  return (
    <>
      {conversations.length === 0 && <p class="inbox-list-none">{view.empty}</p>}
      {/* biome's rule is about static elements: the rows in it have the focus. */}
      <ul
        ref={list}
        class="inbox-list"
        data-selecting={selected.size > 0}
        aria-label={view.label}
        onKeyDown={press}
      >
        {conversations.map((conversation) => {
          const { id } = conversation;
          const { otherId } = nameOf(conversation, myId);
          return (
            <InboxRow
              key={id}
              conversation={conversation}
              myId={myId}
              isOpen={id === openId}
              isMentioned={mentioned.has(id) && conversation.unread > 0}
              presence={otherId === null ? undefined : presence.get(otherId)}
              isTabStop={id === tabStop}
              isSelected={selected.has(id)}
              onSelect={toggle}
              onMenu={openMenu}
            />
          );
        })}
      </ul>
      {selected.size > 0 && Bar !== null && (
        <Bar
          selected={conversations.filter(({ id }) => selected.has(id))}
          shown={conversations.length}
          onAll={() => set(ids)}
          onKeep={set}
        />
      )}
      {hasMore && <More load={async () => void (await live?.loadMore())} />}
      {overlays}
    </>
  );
}

/** Returns the bar of actions on several rows, which is loaded when it is first wanted. */
function useBulkBar(isWanted: boolean): ComponentType<BulkBarProps> | null {
  const [Bar, setBar] = useState<ComponentType<BulkBarProps> | null>(null);
  useEffect(() => {
    if (!isWanted || Bar !== null) return;
    import('./bulk-bar.tsx').then(({ BulkBar }) => setBar(() => BulkBar), notifyFailure);
  }, [isWanted, Bar]);
  return Bar;
}

/** Loads the next page when it comes near the visible part of the list. */
function More({ load }: { readonly load: () => Promise<void> }) {
  const mark = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const loading = useRef(false);
  const now = useRef(() => {});
  now.current = () => {
    if (loading.current) return;
    loading.current = true;
    setFailed(false);
    load()
      .catch(() => setFailed(true))
      .finally(() => {
        loading.current = false;
      });
  };
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && now.current(), {
      root: mark.current!.closest('.inbox-scroll'),
      rootMargin: '400px',
    });
    observer.observe(mark.current!);
    return () => observer.disconnect();
  }, []);
  // If a page did not fill the list, the mark stayed in view and no change is observed.
  useLayoutEffect(() => {
    const element = mark.current!;
    const scroll = element.closest('.inbox-scroll');
    if (scroll !== null && element.offsetTop < scroll.scrollTop + scroll.clientHeight) now.current();
  });
  return (
    <div ref={mark} class="inbox-list-more">
      {failed ? (
        <Button onClick={() => now.current()}>{texts.inbox.loadMore}</Button>
      ) : (
        texts.inbox.loadingMore
      )}
    </div>
  );
}

function RowsLoading() {
  return (
    <div class="inbox-list-loading" role="status">
      <span class="hidden-visually">{texts.inbox.loading}</span>
      {Array.from({ length: 6 }, (_, index) => (
        <i key={index} />
      ))}
    </div>
  );
}

const MOST_PRESENT = 100;
