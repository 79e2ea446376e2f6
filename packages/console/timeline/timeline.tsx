import { useConversation } from '@parley/client/react';
import { Button } from '@parley/ui/elements/button.tsx';
import { ArrowDown } from 'lucide';
import { useEffect, useState } from 'preact/hooks';
import { useMessageContext } from '../message/message-context.tsx';
import { go } from '../nav/place.ts';
import { Announcements } from './announcements.tsx';
import { MessageList } from './message-list.tsx';
import { useReading } from './use-reading.ts';
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
  const { source, target } = useSource(conversationId, message);
  const [isAtEnd, setAtEnd] = useState(true);
  const { line, newCount } = useReading(conversationId, ownId, isAtEnd);
  const [ends, setEnds] = useState(0);
  const toEnd = () => {
    if (message !== undefined) go({ main: { at: 'conversation', id: conversationId } }, { replace: true });
    setEnds((count) => count + 1);
  };
  const isLong = isAtEnd && source.key === 'newest' && messages.length > MOST_KEPT;
  useEffect(() => {
    if (isLong) live?.forgetOlder(KEPT).catch(() => {});
  }, [isLong, live]);
  if (status === 'ended') return <p class="timeline-empty">This conversation cannot be read any more.</p>;
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
      {!isAtEnd && (
        <Button class="timeline-newest" icon={ArrowDown} onClick={toEnd}>
          {newCount === 0 ? 'Newest' : newCount === 1 ? '1 new message' : `${newCount} new messages`}
        </Button>
      )}
      <Announcements messages={messages} isReady={status === 'ready'} ownId={ownId} />
    </div>
  );
}

/** Messages in the memory of the page while its reader is at the end. */
const MOST_KEPT = 900;
const KEPT = 300;
