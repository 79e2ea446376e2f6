import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { shortTimeOf } from '@parley/ui/text/time.ts';
import { SendHorizontal } from 'lucide';
import { useEffect, useRef } from 'preact/hooks';
import type { WidgetTexts } from '../texts/widget-texts.ts';
import { lineOf } from './message-line.ts';

export interface HomeProps {
  readonly texts: WidgetTexts;
  readonly greeting: string;
  readonly teamName: string;
  /** The actor id of the visitor. */
  readonly person: string | null | undefined;
  readonly conversations: readonly Conversation[];
  readonly onOpen: (id: string) => void;
  readonly onNew: () => void;
}

/** The beginning of a visitor that has been here before: a new conversation, and those before. */
export function Home(props: HomeProps) {
  const { texts, greeting, teamName, person, conversations, onOpen, onNew } = props;
  const home = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The button that led here is gone.
    if (document.hasFocus() && document.activeElement === document.body)
      home.current!.querySelector<HTMLElement>('.home-new')?.focus();
  }, []);
  return (
    <div ref={home} class="home">
      <section class="home-card home-begin">
        <p dir="auto">{greeting}</p>
        <Button look="primary" icon={SendHorizontal} class="home-new" onClick={onNew}>
          {texts.again}
        </Button>
      </section>
      <section class="home-card">
        <h2>{texts.earlier}</h2>
        <ul class="cases">
          {conversations.map((conversation) => (
            <li key={conversation.id}>
              <Case
                conversation={conversation}
                texts={texts}
                teamName={teamName}
                person={person}
                onOpen={onOpen}
              />
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

type CaseProps = Pick<HomeProps, 'texts' | 'teamName' | 'person' | 'onOpen'> & {
  readonly conversation: Conversation;
};

function Case({ conversation, texts, teamName, person, onOpen }: CaseProps) {
  const { id, title, unread, last_message: last, activity_at, created_at } = conversation;
  const time = activity_at ?? created_at;
  const words = last && lineOf(last, texts);
  const author = last != null && last.sender_id === person ? texts.you : teamName;
  const below = [
    // An event has no author.
    last?.kind !== 'system_event' && author,
    title !== null && words,
  ];
  return (
    <button type="button" class="case" data-unread={unread > 0} onClick={() => onOpen(id)}>
      <span class="case-words" dir="auto">
        {title ?? (words || texts.untitled)}
      </span>
      <time class="case-time" dateTime={time}>
        {shortTimeOf(time)}
      </time>
      <span class="case-last" dir="auto">
        {below.filter(Boolean).join(': ')}
      </span>
      {unread > 0 && (
        <span class="case-unread">
          <span aria-hidden="true">{unread}</span>
          <span class="hidden-visually">{texts.unread(unread)}</span>
        </span>
      )}
    </button>
  );
}
