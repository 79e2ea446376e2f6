import type { ReactElement } from 'react';
import { Composer } from './composer.tsx';
import { Timeline, type TimelineProps } from './timeline.tsx';
import { wordsOf } from './words.ts';

/** The properties of a thread. */
export interface ThreadProps extends Omit<TimelineProps, 'onThread' | 'threadId'> {
  /** The id of the message that is replied to. */
  readonly threadId: string;
  /** Called when the person closes the thread. */
  readonly onClose?: (() => void) | undefined;
}

/** A message with its replies, and a field for another. */
export function Thread(all: ThreadProps): ReactElement {
  const { onClose, ...props } = all;
  const { conversationId, threadId } = props;
  const words = wordsOf(props.words);
  return (
    <aside className="parley-thread" aria-label={words.thread}>
      <header className="parley-thread-head">
        <h2>{words.thread}</h2>
        {onClose !== undefined && (
          <button type="button" onClick={onClose}>
            {words.close}
          </button>
        )}
      </header>
      <Timeline {...props} />
      <Composer conversationId={conversationId} threadId={threadId} words={props.words} />
    </aside>
  );
}
