/** Components over the hooks of the SDK, which count how often they are rendered. */

import { createElement as h, memo, type ReactElement } from 'react';
import type { InboxQuery, TimelineMessage } from '../index.ts';
import {
  useConnection,
  useConversation,
  useInbox,
  useNotifications,
  useOwnPresence,
  usePresence,
  useRun,
  useSearch,
  useThread,
  useTyping,
  useUnread,
} from '../react/index.ts';

/** Renders by the name of the component. */
export const renders: Record<string, number> = {};
/** The most renders of a component in one frame. */
export const most: Record<string, number> = {};
const latest = new Map<string, { readonly frame: number | null; readonly renders: number }>();
/** What tests call, and the part of a browser that is used here. */
const page = globalThis as {
  readonly document?: { readonly timeline: { readonly currentTime: number } };
  thread?: unknown;
  declareTyping?: unknown;
};

/** To be called by each render. Between two frames the time of the document stands still. */
function count(name: string): void {
  const frame = page.document?.timeline.currentTime ?? null;
  const before = latest.get(name);
  const inFrame = before?.frame === frame ? before.renders + 1 : 1;
  latest.set(name, { frame, renders: inFrame });
  renders[name] = (renders[name] ?? 0) + 1;
  most[name] = Math.max(most[name] ?? 0, inFrame);
}

export function resetCounts(): void {
  for (const counts of [renders, most]) for (const name of Object.keys(counts)) delete counts[name];
  latest.clear();
}

interface ListProps {
  readonly id: string;
  readonly items: readonly (string | null)[];
}

const List = ({ id, items }: ListProps) =>
  h('ul', { id }, ...items.map((item, n) => h('li', { key: n }, item)));
const Row = memo(({ message }: { readonly message: TimelineMessage }) => h('li', null, message.body));

/** The components by name, whose properties are plain JSON. */
const PARTS = {
  Connection() {
    count('Connection');
    return h('output', { id: 'connection' }, useConnection().state);
  },
  Inbox({ query }: { query?: InboxQuery }) {
    count('Inbox');
    const { status, conversations } = useInbox(query);
    return h(List, {
      id: 'inbox',
      items: [status, ...conversations.map(({ title, unread }) => `${title} ${unread}`)],
    });
  },
  Timeline({ id }: { id: string }) {
    count(`Timeline ${id}`);
    const { messages } = useConversation(id);
    return h(
      'ol',
      { id: `timeline-${id}` },
      messages.map((message) => h(Row, { key: message.key, message })),
    );
  },
  Title({ id }: { id: string }) {
    count('Title');
    const { title, size } = useConversation(id, {
      select: ({ conversation }) => ({
        title: conversation?.title ?? '',
        size: conversation?.participants?.length ?? 0,
      }),
    });
    return h(List, { id: 'title', items: [title, `${size}`] });
  },
  Thread({ id, messageId }: { id: string; messageId: string }) {
    count('Thread');
    const { root, messages, live } = useThread(id, messageId);
    page.thread = live;
    return h(List, { id: 'thread', items: [root?.body ?? null, ...messages.map(({ body }) => body)] });
  },
  Typing({ id }: { id: string }) {
    count('Typing');
    const { typing, declare } = useTyping(id);
    page.declareTyping = declare;
    return h(List, { id: 'typing', items: typing.map(({ name }) => name) });
  },
  Presence({ ids }: { ids: readonly string[] }) {
    count('Presence');
    const { presence } = usePresence(ids);
    return h(List, { id: 'presence', items: ids.map((id) => presence.get(id) ?? '') });
  },
  OwnPresence({ status }: { status: 'online' | 'away' }) {
    useOwnPresence(status);
    return h('output');
  },
  Notifications() {
    count('Notifications');
    const { notifications } = useNotifications();
    return h(List, { id: 'notifications', items: notifications.map(({ category }) => category) });
  },
  Unread() {
    count('Unread');
    const { conversations, notifications } = useUnread();
    return h('output', { id: 'unread' }, `${conversations} ${notifications}`);
  },
  Search({ words }: { words: string }) {
    count('Search');
    const { status, hits } = useSearch(words);
    return h(List, { id: 'search', items: [status, ...hits.map(({ message }) => message?.body ?? null)] });
  },
  Run({ id }: { id: string }) {
    count('Run');
    const { run, text } = useRun(id);
    return h(List, { id: 'run', items: [run?.status ?? '', text] });
  },
};

export type Part = readonly [name: keyof typeof PARTS, properties?: object];

export function App({ shown }: { readonly shown: readonly Part[] }): ReactElement[] {
  return shown.map(([name, props = {}], n) =>
    h(PARTS[name] as (props: object) => ReactElement, { key: n, ...props }),
  );
}
