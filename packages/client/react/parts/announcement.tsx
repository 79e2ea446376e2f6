import { type ReactElement, useEffect, useRef, useState } from 'react';
import { authorIdOf, type TimelineItem } from '../headless/index.ts';
import type { Words } from './words.ts';

/** The properties of an announcement. */
export interface AnnouncementProps {
  readonly items: readonly TimelineItem[];
  readonly isReady: boolean;
  readonly ownId: string;
  readonly words: Words;
}

/** Reads new messages of others to users of screen readers, and no earlier ones. */
export function Announcement({ items, isReady, ownId, words }: AnnouncementProps): ReactElement {
  const known = useRef<number | null>(null);
  const [said, setSaid] = useState('');
  const last = items.at(-1);
  const message = last?.type === 'message' && last.message.sequence !== null ? last.message : null;
  useEffect(() => {
    if (!isReady) return;
    const before = known.current;
    known.current = Math.max(before ?? 0, message?.sequence ?? 0);
    if (before === null || message?.sequence == null || message.sequence <= before) return;
    if (authorIdOf(message) === ownId) return;
    setSaid(`${message.sender?.name ?? words.somebody}: ${message.body ?? words.files}`);
  }, [isReady, message, ownId, words]);
  return (
    <p className="parley-unseen" aria-live="polite">
      {said}
    </p>
  );
}
