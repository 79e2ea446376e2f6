import { useInbox } from '@parley/client/react';
import { useEffect } from 'preact/hooks';
import { usePageName } from '../nav/page-name.ts';
import { PARTS } from '../nav/parts.ts';
import type { Main } from '../nav/place.ts';
import { texts } from '../texts/texts.ts';

/** Names the page after its place, with how many conversations are unread, also on its icon. */
export function usePageTitle(main: Main): void {
  const { summary } = useInbox({ pageSize: 1, include: [] });
  const unread = summary?.unread ?? 0;
  const named = usePageName();
  const name = named === undefined ? placeName(main) : nameWithin(main, named);
  useEffect(() => {
    document.title = titleOf(name, unread);
  }, [name, unread]);
  const hasUnread = unread > 0;
  useEffect(() => void markIcon(hasUnread), [hasUnread]);
}

/** Returns the title of a page. */
function titleOf(name: string, unread: number): string {
  return `${unread > 0 ? `(${unread}) ` : ''}${name} · Parley`;
}

/** A conversation is a part by its own name. */
function nameWithin(main: Main, named: string): string {
  return main.at === 'conversation' ? named : `${named} · ${placeName(main)}`;
}

function placeName(main: Main): string {
  if (main.at === 'conversation') return texts.shell.conversation;
  return PARTS.find(({ to }) => to.at === main.at)?.label ?? texts.shell.inbox;
}

let drawn: Promise<string> | undefined;

/** Draws a dot on the icon of the page, or takes it away. */
async function markIcon(isMarked: boolean): Promise<void> {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link === null) return;
  link.dataset.plain ??= link.href;
  const { plain } = link.dataset;
  if (!isMarked) {
    link.href = plain;
    return;
  }
  try {
    drawn ??= fetch(plain).then((answer) => answer.text());
    const svg = (await drawn).replace('</svg>', '<circle cx="18" cy="6" r="6" fill="#d1382f"/></svg>');
    link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  } catch {
    drawn = undefined;
  }
}
