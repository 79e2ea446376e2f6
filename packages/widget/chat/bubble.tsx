import type { useConversation } from '@parley/client/react';
import { isPlainText } from '@parley/markdown/message-text.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { Boundary } from '@parley/ui/feedback/boundary.tsx';
import { Markdown } from '@parley/ui/text/markdown.tsx';
import { fullTimeOf, timeOf } from '@parley/ui/text/time.ts';
import { memo } from 'preact/compat';
import type { WidgetTexts } from '../texts.ts';
import { BubbleFiles } from './bubble-files.tsx';

type Shown = ReturnType<typeof useConversation>;

export interface BubbleProps {
  readonly message: Shown['messages'][number];
  readonly texts: WidgetTexts;
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

function Whole({ message, texts, live }: BubbleProps) {
  const { key, body, delivery, created_at, attachments } = message;
  const isOwn = delivery !== 'sent' || message.sender?.type === 'user';
  const isGone = delivery === 'sent' && message.deleted_at !== null;
  return (
    <article class={isOwn ? 'bubble bubble-own' : 'bubble'} data-delivery={delivery}>
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
  );
}
