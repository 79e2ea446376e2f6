import { type FocusEvent, type ReactElement, useState } from 'react';
import {
  type TimelineItem,
  type TimelineOptions,
  type TimelineState,
  useTimeline,
} from '../headless/index.ts';
import { useTyping } from '../index.ts';
import { Announcement } from './announcement.tsx';
import { Message, type MessageActions } from './message.tsx';
import { moveFocus } from './move-focus.ts';
import { dayOf } from './times.tsx';
import { type PartProps, wordsOf } from './words.ts';

/** The properties of a timeline. */
export interface TimelineProps extends PartProps, MessageActions, TimelineOptions {
  /** The conversation that is shown. */
  readonly conversationId: string;
}

/** The messages of a conversation, or of a thread, which scroll as people expect. */
export function Timeline(props: TimelineProps): ReactElement {
  return <TimelineOf key={`${props.conversationId} ${props.threadId}`} {...props} />;
}

function TimelineOf(props: TimelineProps) {
  const { conversationId, threadId = null } = props;
  const { pageSize = 30, message, timeZone, initial } = props;
  const timeline = useTimeline(conversationId, { threadId, pageSize, message, timeZone, initial });
  const { items, root, status, hasOlder, isAtEnd, newCount, loadOlder, toEnd, scrollRef, listRef } = timeline;
  const words = wordsOf(props.words);
  const [focused, setFocused] = useState<string | null>(null);
  const last = items.at(-1);
  const tabStop = items.some(({ key }) => key === focused) ? focused : (last?.key ?? null);
  const note = ({ target }: FocusEvent<HTMLElement>) => {
    const id = target.closest('[data-message]')?.getAttribute('data-message');
    const item = items.find((one) => one.type === 'message' && (one.message.id ?? one.key) === id);
    if (item !== undefined) setFocused(item.key);
  };
  return (
    <section className="parley-timeline" aria-label={threadId === null ? words.conversation : words.thread}>
      <div className="parley-timeline-scroll" ref={scrollRef}>
        <div
          className="parley-timeline-items"
          ref={listRef}
          role="log"
          aria-live="off"
          aria-label={words.messages}
          onFocus={note}
          onKeyDown={(event) => moveFocus(event, '[data-message]')}
        >
          {root !== null && (
            <Message
              {...props}
              message={root}
              live={timeline.live}
              ownId={timeline.ownId}
              onThread={undefined}
            />
          )}
          {status === 'ready' && hasOlder && (
            <button type="button" className="parley-older" onClick={loadOlder}>
              {words.older}
            </button>
          )}
          {items.map((item) => (
            <Line
              key={item.key}
              item={item}
              timeline={timeline}
              isTabStop={item.key === tabStop}
              props={props}
            />
          ))}
        </div>
        {status === 'loading' && items.length === 0 && <p className="parley-empty">{words.loading}</p>}
        {status === 'ready' && items.length === 0 && threadId === null && (
          <p className="parley-empty">{words.noMessages}</p>
        )}
        {status === 'ended' && <p className="parley-empty">{words.ended}</p>}
      </div>
      {!isAtEnd && (
        <button type="button" className="parley-newest" onClick={toEnd}>
          {newCount === 0 ? words.newest : words.newMessages(newCount)}
        </button>
      )}
      {threadId === null && <TypingLine {...props} />}
      <Announcement items={items} isReady={status === 'ready'} ownId={timeline.ownId} words={words} />
    </section>
  );
}

interface LineProps {
  readonly item: TimelineItem;
  readonly timeline: TimelineState;
  readonly isTabStop: boolean;
  readonly props: TimelineProps;
}

function Line({ item, timeline, isTabStop, props }: LineProps) {
  const { words, locale, timeZone, reactions, onThread, onEdit, renderText } = props;
  const { live, ownId, found, jumpTo, itemProps } = timeline;
  if (item.type === 'message') {
    return (
      <Message
        message={item.message}
        continues={item.continues}
        isTabStop={isTabStop}
        isFound={found !== null && item.message.id === found}
        onJump={jumpTo}
        live={live}
        ownId={ownId}
        words={words}
        locale={locale}
        timeZone={timeZone}
        reactions={reactions}
        onThread={onThread}
        onEdit={onEdit}
        renderText={renderText}
      />
    );
  }
  return (
    <p className={`parley-${item.type}`} {...itemProps(item)}>
      <span>{item.type === 'day' ? dayOf(item.at, { locale, timeZone }) : wordsOf(words).unread}</span>
    </p>
  );
}

/** It reads who is typing alone: messages do not render it. */
function TypingLine({ conversationId, words: given }: TimelineProps) {
  const words = wordsOf(given);
  const names = useTyping(conversationId).typing.map(({ name }) => name ?? words.somebody);
  return (
    <p className="parley-typing" aria-live="polite">
      {names.length > 0 && words.typing(names)}
    </p>
  );
}
