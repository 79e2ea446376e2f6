import type { TimelineMessage } from '@parley/client';
import { useConversation } from '@parley/client/react';
import { useReading } from '@parley/client/react/headless/use-reading.ts';
import { firstUnread } from '@parley/client/timeline/unread.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { countText } from '@parley/ui/text/amounts.ts';
import { shortTimeOf } from '@parley/ui/text/time.ts';
import { ArrowDown } from 'lucide';
import { useEffect, useState } from 'preact/hooks';
import { useMessageContext } from '../message/message-context.tsx';
import { go } from '../nav/place.ts';
import { texts } from '../texts/texts.ts';
import { Announcements } from './announcements.tsx';
import { MessageList } from './message-list.tsx';
import { useSource } from './use-source.ts';

export interface TimelineProps {
  /** The id of a message to show in the middle. */
  readonly message?: string | undefined;
}

/** The messages of a conversation, and its reader's place among them. */
export function Timeline({ message }: TimelineProps) {
  const { conversationId, rights } = useMessageContext();
  const { ownId } = rights;
  const { messages, status, live } = useConversation(conversationId);
  // Undefined until the list is shown, so that nothing counts as read before.
  const [isAtEnd, setAtEnd] = useState<boolean>();
  const { line, newCount } = useReading(conversationId, ownId, isAtEnd === true);
  const { source, target, toNewest } = useSource(conversationId, message, line);
  const [ends, setEnds] = useState(0);
  const toEnd = () => {
    if (message !== undefined) go({ main: { at: 'conversation', id: conversationId } }, { replace: true });
    toNewest();
    setEnds((count) => count + 1);
  };
  const isLong = isAtEnd === true && source.key === 'newest' && messages.length > MOST_KEPT;
  useEffect(() => {
    if (isLong) live?.forgetOlder(KEPT).catch(() => {});
  }, [isLong, live]);
  if (status === 'ended') return <p class="timeline-empty">{texts.timeline.ended}</p>;
  return (
    <div class="timeline">
      <MessageList
        key={source.key}
        source={source}
        target={target}
        ends={ends}
        line={line}
        onAtEnd={setAtEnd}
        onOwn={toEnd}
      />
      {isAtEnd === false && line != null && newCount > 0 && (
        <UnreadNote count={newCount} since={sinceOf(source.messages, line, ownId)} onJump={toEnd} />
      )}
      {isAtEnd === false && (
        <Button class="timeline-newest" icon={ArrowDown} onClick={toEnd}>
          {newCount === 0 ? texts.timeline.newest : texts.timeline.newMessages(newCount)}
        </Button>
      )}
      <Announcements messages={messages} isReady={status === 'ready'} ownId={ownId} />
    </div>
  );
}

interface UnreadNoteProps {
  readonly count: number;
  /** When the first one was written; null where it is not loaded. */
  readonly since: string | null;
  readonly onJump: () => void;
}

/** Says above the messages how much is unread, for a reader who begins with the first of it. */
function UnreadNote({ count, since, onJump }: UnreadNoteProps) {
  const { unread, unreadSince } = texts.timeline;
  const shown = countText(count);
  return (
    <p class="timeline-unread-note">
      <span>{since === null ? unread(shown) : unreadSince(shown, shortTimeOf(since))}</span>
      <button type="button" onClick={onJump}>
        {texts.timeline.jump}
      </button>
    </p>
  );
}

function sinceOf(messages: readonly TimelineMessage[], line: number, ownId: string): string | null {
  return messages[0]?.sequence != null && messages[0].sequence > line + 1
    ? null
    : (messages[firstUnread(messages, line, ownId)]?.created_at ?? null);
}

/** Messages in the memory of the page while its reader is at the end. */
const MOST_KEPT = 900;
const KEPT = 300;
