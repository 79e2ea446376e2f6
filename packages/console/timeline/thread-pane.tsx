import { useThread } from '@parley/client/react';
import { Button } from '@parley/ui/elements/button.tsx';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Composer } from '../composer/composer.tsx';
import { MessagesOf } from '../message/message-context.tsx';
import { MessageRow } from '../message/message-row.tsx';
import { texts } from '../texts/texts.ts';

export interface ThreadPaneProps {
  readonly conversationId: string;
  /** The first message of the thread. */
  readonly messageId: string;
}

/** A message with its replies, and a field for another. */
export function ThreadPane({ conversationId, messageId }: ThreadPaneProps) {
  const { root, messages, hasOlder, status, live } = useThread(conversationId, messageId);
  const list = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const last = messages.at(-1);
  useLayoutEffect(() => {
    const element = list.current;
    if (last !== undefined && element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [last]);
  useEffect(() => {
    const read = () => {
      if (last?.delivery === 'sent' && document.visibilityState === 'visible') {
        live?.markRead().catch(() => {});
      }
    };
    read();
    document.addEventListener('visibilitychange', read);
    return () => document.removeEventListener('visibilitychange', read);
  }, [live, last]);
  if (status === 'ended') return <p class="side-pane-empty">{texts.timeline.threadEnded}</p>;
  const count = root?.thread?.reply_count ?? messages.length;
  return (
    <MessagesOf conversationId={conversationId}>
      <div
        ref={list}
        class="thread-pane"
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 40;
        }}
      >
        {root !== null && <MessageRow message={root} isInThread />}
        <p class="thread-pane-count">
          {status === 'loading' ? texts.timeline.loading : texts.timeline.replies(count)}
        </p>
        {hasOlder && (
          <Button class="thread-pane-older" onClick={() => live?.loadOlder()}>
            {texts.timeline.showEarlier}
          </Button>
        )}
        <div role="log" aria-live="off" aria-label={texts.timeline.repliesList}>
          {messages.map((message) => (
            <MessageRow key={message.key} message={message} isInThread />
          ))}
        </div>
      </div>
      <Composer conversationId={conversationId} replyTo={messageId} />
    </MessagesOf>
  );
}
