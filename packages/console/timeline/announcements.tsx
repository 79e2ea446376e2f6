import type { TimelineMessage } from '@parley/client';
import { authorIdOf } from '@parley/client/timeline/author.ts';
import { previewOf } from '@parley/markdown/message-text.ts';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { useEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';

export interface AnnouncementsProps {
  readonly messages: readonly TimelineMessage[];
  /** Whether the newest messages are there: loaded ones are not announced. */
  readonly isReady: boolean;
  readonly ownId: string;
}

/**
 * Announces new messages of others to screen readers: the first at once, then at most one a second.
 * Texts that are being written are announced when they are complete.
 */
export function Announcements({ messages, isReady, ownId }: AnnouncementsProps) {
  const [said, setSaid] = useState('');
  const after = useRef<number | null>(null);
  /** Ids of messages whose text is being written. */
  const writing = useRef(new Set<string>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const say = useEvent(() => {
    const fresh = newOnes(messages, after.current ?? Infinity, ownId, writing.current);
    after.current = Math.max(after.current ?? 0, lastSequence(messages));
    if (fresh.length === 0) return false;
    const [one] = fresh;
    setSaid(fresh.length === 1 ? lineOf(one!) : texts.timeline.newMessages(fresh.length));
    return true;
  });
  useEffect(() => {
    if (!isReady) return;
    if (after.current === null) {
      after.current = lastSequence(messages);
      return;
    }
    if (timer.current !== undefined) return;
    const again = () => {
      timer.current = say() ? setTimeout(again, PAUSE_MS) : undefined;
    };
    again();
  }, [messages, isReady]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <p class="hidden-visually" role="status" aria-live="polite">
      {said}
    </p>
  );
}

function newOnes(
  messages: readonly TimelineMessage[],
  after: number,
  ownId: string,
  writing: Set<string>,
): TimelineMessage[] {
  const fresh: TimelineMessage[] = [];
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]!;
    if (message.id === null) continue;
    const isNew = message.sequence! > after;
    if (!isNew && writing.size === 0) break;
    if (message.kind === 'system_event' || authorIdOf(message) === ownId) continue;
    const wasWriting = writing.delete(message.id);
    if (message.streaming_state === 'streaming' && (isNew || wasWriting)) writing.add(message.id);
    else if ((isNew || wasWriting) && message.deleted_at === null) fresh.unshift(message);
  }
  return fresh;
}

function lastSequence(messages: readonly TimelineMessage[]): number {
  return messages.findLast(({ sequence }) => sequence !== null)?.sequence ?? 0;
}

function lineOf(message: TimelineMessage): string {
  const { sender, attachments } = message;
  const text = previewOf(message);
  const { service, aFile, aMessage } = texts.timeline;
  return `${sender?.name ?? service}: ${text !== '' ? text : attachments?.length ? aFile : aMessage}`;
}

const PAUSE_MS = 1_000;
