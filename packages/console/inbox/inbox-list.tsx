import { useInbox, usePresence } from '@parley/client/react';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { Menu, type MenuItem } from '@parley/ui/overlays/menu.tsx';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { nameOf } from '../names/conversation-name.ts';
import { usePlace } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { AssignDialog } from './assign-dialog.tsx';
import { InboxRow } from './inbox-row.tsx';
import type { InboxView } from './inbox-view.ts';
import { useNeighbourKeys } from './neighbour-keys.ts';
import { ACTION_KEYS, type ActionContext, rowActions } from './row-actions.ts';
import { useMentioned } from './use-mentioned.ts';
import { useRowFocus } from './use-row-focus.ts';

interface OpenMenu {
  readonly anchor: HTMLElement;
  readonly label: string;
  readonly items: readonly MenuItem[];
}

/** The conversations of a view, by activity, with the actions on each. */
export function InboxList({ view }: { readonly view: InboxView }) {
  const { client, me, can } = useSignedIn();
  const { conversations, hasMore, status, error, live } = useInbox(view.query);
  const { main } = usePlace();
  const myId = me.actor.id;
  const openId = main.at === 'conversation' ? main.id : null;
  const mentioned = useMentioned();
  const others = useMemo(
    () => conversations.flatMap((one) => nameOf(one, myId).otherId ?? []).slice(0, MOST_PRESENT),
    [conversations, myId],
  );
  const { presence } = usePresence(others);
  const [menu, setMenu] = useState<OpenMenu | null>(null);
  const [assigning, setAssigning] = useState<Conversation | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const ids = conversations.map(({ id }) => id);
  const { tabStop, onKeyDown } = useRowFocus(list, ids, openId);
  useNeighbourKeys(ids, openId);

  const contextOf = (anchor: HTMLElement): ActionContext => ({
    client,
    myId,
    can,
    isAdmin: me.role?.type === 'admin',
    onAssign: setAssigning,
    onTimes: (items, label) => setMenu({ anchor, label, items }),
  });
  const openMenu = useEvent((conversation: Conversation, anchor: HTMLElement) => {
    const items = rowActions(conversation, contextOf(anchor));
    setMenu({ anchor, label: 'Actions', items });
  });
  const press = (event: KeyboardEvent) => {
    onKeyDown(event);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = (event.target as HTMLElement).closest<HTMLElement>('.inbox-row');
    const conversation = conversations.find(({ id }) => id === row?.dataset.id);
    if (row === null || conversation === undefined) return;
    const pressed = pressedKey(event);
    if (pressed === 'F10' && event.shiftKey) openMenu(conversation, row);
    else {
      const name = Object.entries(ACTION_KEYS).find(([, key]) => key === pressed)?.[0];
      const action = rowActions(conversation, contextOf(row)).find((one) => one.name === name);
      if (action === undefined) return;
      action.act();
    }
    event.preventDefault();
  };

  if (status === 'loading') return <RowsLoading />;
  if (status === 'error') {
    return (
      <p class="inbox-list-none" role="alert">
        The conversations cannot be loaded. {error?.message}
      </p>
    );
  }
  return (
    <>
      {conversations.length === 0 && <p class="inbox-list-none">{view.empty}</p>}
      {/* biome's rule is about static elements: the rows in it have the focus. */}
      <ul ref={list} class="inbox-list" aria-label={view.label} onKeyDown={press}>
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
              onMenu={openMenu}
            />
          );
        })}
      </ul>
      {hasMore && <More load={async () => void (await live?.loadMore())} />}
      {menu !== null && (
        <Menu
          key={menu.label}
          anchor={menu.anchor}
          label={menu.label}
          items={menu.items}
          onClose={() => setMenu(null)}
        />
      )}
      {assigning !== null && <AssignDialog conversation={assigning} onClose={() => setAssigning(null)} />}
    </>
  );
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
      {failed ? <Button onClick={() => now.current()}>Load more</Button> : 'Loading more…'}
    </div>
  );
}

function RowsLoading() {
  return (
    <div class="inbox-list-loading" role="status">
      <span class="hidden-visually">Loading the conversations…</span>
      {Array.from({ length: 6 }, (_, index) => (
        <i key={index} />
      ))}
    </div>
  );
}

const MOST_PRESENT = 100;
