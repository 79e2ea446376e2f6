import { previewOf } from '@parley/markdown/message-text.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { shortTimeOf } from '@parley/ui/text/time.ts';
import type { WidgetTexts } from '../texts.ts';

export interface CasesProps {
  readonly texts: WidgetTexts;
  readonly conversations: readonly Conversation[];
  readonly onOpen: (id: string) => void;
  readonly onNew: () => void;
}

/** The conversations of the visitor, the newest first. */
export function Cases({ texts, conversations, onOpen, onNew }: CasesProps) {
  return (
    <div class="chat-body">
      <ul class="cases">
        {conversations.map(({ id, title, unread, last_message: last, activity_at, created_at }) => (
          <li key={id}>
            <button type="button" class="case" data-unread={unread > 0} onClick={() => onOpen(id)}>
              <span dir="auto">{title ?? ((last && previewOf(last)) || texts.untitled)}</span>
              <time class="case-time" dateTime={activity_at ?? created_at}>
                {shortTimeOf(activity_at ?? created_at)}
              </time>
            </button>
          </li>
        ))}
      </ul>
      <Button onClick={onNew}>{texts.again}</Button>
    </div>
  );
}
