import type { useConversation } from '@parley/client/react';
import { isPlainText } from '@parley/markdown/message-text.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { Boundary } from '@parley/ui/feedback/boundary.tsx';
import { Markdown } from '@parley/ui/text/markdown.tsx';
import { dayOf, fullTimeOf, isSameDay, timeOf } from '@parley/ui/text/time.ts';
import { memo } from 'preact/compat';
import type { WidgetTexts } from '../texts/widget-texts.ts';
import { BubbleFiles } from './bubble-files.tsx';
import { eventTextOf, lineOf } from './message-line.ts';

type Shown = ReturnType<typeof useConversation>;

export interface BubbleProps {
  readonly message: Shown['messages'][number];
  readonly before: Shown['messages'][number] | undefined;
  readonly texts: WidgetTexts;
  readonly teamName: string;
  readonly live: Shown['live'];
}

/** A message of the visitor, or of the team. */
export const Bubble = memo((props: BubbleProps) => (
  <Boundary
    instead={
      <article class="bubble">
        <p>{props.message.body}</p>
      </article>
    }
  >
    <Whole {...props} />
  </Boundary>
));

function Whole({ message, before, texts, teamName, live }: BubbleProps) {
  const { key, body, delivery, created_at, attachments } = message;
  const day = before === undefined || !isSameDay(before.created_at, created_at) ? dayOf(created_at) : '';
  const heading = day !== '' && <p class="chat-day">{day}</p>;
  const event = isEvent(message) ? eventTextOf(message, texts) : undefined;
  if (event !== undefined) {
    return (
      <>
        {heading}
        <p class="chat-event">{event}</p>
      </>
    );
  }
  const isOwn = isOfVisitor(message);
  const isGone = delivery === 'sent' && message.deleted_at !== null;
  const author = isOwn ? texts.you : (message.sender?.name ?? teamName);
  const continues = before !== undefined && day === '' && !isEvent(before) && isOfVisitor(before) === isOwn;
  const time = delivery === 'sent' ? `, ${timeOf(created_at)}` : '';
  const said = isGone ? texts.deleted : lineOf(message, texts);
  return (
    <>
      {heading}
      {!continues && !isOwn && (
        <p class="bubble-author" aria-hidden="true" dir="auto">
          {author}
        </p>
      )}
      <article
        class={isOwn ? 'bubble bubble-own' : 'bubble'}
        aria-label={`${author}${time}: ${said}`}
        data-message={key}
        data-delivery={delivery}
        data-continues={continues}
      >
        {isGone ? <em>{texts.deleted}</em> : body && <Markdown text={body} isPlain={isPlainText(message)} />}
        {!isGone && <BubbleFiles attachments={attachments ?? []} texts={texts} />}
        {delivery === 'sent' && (
          <time dateTime={created_at} title={fullTimeOf(created_at)}>
            {timeOf(created_at)}
          </time>
        )}
        {delivery === 'pending' && <small role="status">{texts.sending}</small>}
        {delivery === 'failed' && (
          <small role="alert">
            {texts.failed} {message.error?.message}
            <Button look="plain" onClick={() => live?.retry(key)}>
              {texts.retry}
            </Button>
            <Button look="plain" onClick={() => live?.discard(key)}>
              {texts.discard}
            </Button>
          </small>
        )}
      </article>
    </>
  );
}

function isEvent(message: BubbleProps['message']): message is ChatMessage & BubbleProps['message'] {
  return message.delivery === 'sent' && message.kind === 'system_event';
}

function isOfVisitor(message: BubbleProps['message']): boolean {
  return message.delivery !== 'sent' || message.sender?.type === 'user';
}
