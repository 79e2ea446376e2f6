import { useTimeline } from '@parley/client/react/headless/use-timeline.ts';
import { Button } from '@parley/ui/elements/button.tsx';
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
  const { root, items, hasOlder, status, loadOlder, scrollRef, listRef } = useTimeline(conversationId, {
    threadId: messageId,
  });
  if (status === 'ended') return <p class="side-pane-empty">{texts.timeline.threadEnded}</p>;
  const messages = items.flatMap((item) => (item.type === 'message' ? item.message : []));
  const count = root?.thread?.reply_count ?? messages.length;
  return (
    <MessagesOf conversationId={conversationId}>
      <div ref={scrollRef} class="thread-pane">
        <div ref={listRef} role="log" aria-live="off" aria-label={texts.timeline.repliesList}>
          {root !== null && <MessageRow message={root} isInThread />}
          <p class="thread-pane-count">
            {status === 'loading' ? texts.timeline.loading : texts.timeline.replies(count)}
          </p>
          {hasOlder && (
            <Button class="thread-pane-older" onClick={loadOlder}>
              {texts.timeline.showEarlier}
            </Button>
          )}
          {messages.map((message) => (
            <MessageRow key={message.key} message={message} isInThread />
          ))}
        </div>
      </div>
      <Composer conversationId={conversationId} replyTo={messageId} />
    </MessagesOf>
  );
}
