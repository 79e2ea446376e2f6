import { useConversation } from '@parley/client/react';
import { ScrollKeeper } from '@parley/client/timeline/scroll-keeper.ts';
import type { WidgetPublic } from '@parley/protocol/resources/widget.ts';
import type { WidgetLanguage } from '@parley/protocol/resources/widget-languages.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { WidgetTexts } from '../texts/widget-texts.ts';
import { Address, type AddressProps } from './address.tsx';
import { Bubble } from './bubble.tsx';
import { Field } from './field.tsx';
import type { KeptWriting } from './kept-writing.ts';
import { lineOf } from './message-line.ts';

export interface ConversationProps extends Pick<AddressProps, 'asked' | 'onEntered'> {
  readonly id: string;
  readonly texts: WidgetTexts;
  readonly widget: WidgetPublic;
  readonly language: WidgetLanguage;
  /** Whether the panel is open, so that its end counts as read. */
  readonly isShown: boolean;
  readonly offersAddress: boolean;
  readonly writing: KeptWriting;
}

/** An open conversation. */
export function Conversation(props: ConversationProps) {
  const { id, texts, widget, language, isShown, offersAddress, asked, onEntered, writing } = props;
  const { messages, hasOlder, typing, live, status } = useConversation(id);
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const keeper = useRef<ScrollKeeper>(undefined);
  const [isAtEnd, setAtEnd] = useState(true);
  const last = messages.at(-1);
  useLayoutEffect(() => {
    // Older messages are loaded by a button.
    const made = new ScrollKeeper(box.current!, list.current!, { atEnd: setAtEnd, near: () => {} });
    keeper.current = made;
    return () => made.close();
  }, []);
  useLayoutEffect(() => {
    if (last?.delivery === 'pending') keeper.current!.toEnd();
    else keeper.current!.keep();
  });
  useEffect(() => {
    const isRead = isShown && status === 'ready' && last?.delivery === 'sent' && isAtEnd;
    if (isRead && document.visibilityState === 'visible') live?.markRead().catch(() => {});
  }, [isShown, last, live, status, isAtEnd]);
  return (
    <>
      <div
        ref={box}
        class="chat-body"
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={texts.conversation}
      >
        <div ref={list} class="chat-list">
          {hasOlder && (
            <Button look="plain" onClick={() => live?.loadOlder().catch(() => {})}>
              {texts.older}
            </Button>
          )}
          {messages.map((message, index) => (
            <Bubble
              key={message.key}
              message={message}
              before={messages[index - 1]}
              texts={texts}
              teamName={widget.persona.name}
              live={live}
            />
          ))}
          {typing.length > 0 && <p class="chat-typing">{texts.typing(widget.persona.name)}</p>}
          {offersAddress && messages.length > 0 && (
            <Address
              texts={texts}
              widget={widget}
              language={language}
              asked={asked}
              isWaiting={messages.some(({ delivery }) => delivery === 'pending')}
              onEntered={onEntered}
            />
          )}
        </div>
      </div>
      <News texts={texts} name={widget.persona.name} last={last} />
      <Field
        texts={texts}
        writing={writing}
        place={id}
        onType={(isTyping) => live?.typing(isTyping)}
        upload={async (...call) => {
          if (live === undefined) throw new Error(texts.problem);
          return live.upload(...call);
        }}
        onSend={(message) => {
          if (live === undefined) return false;
          live.send(message).catch(() => {});
          return true;
        }}
      />
    </>
  );
}

interface NewsProps {
  readonly texts: WidgetTexts;
  readonly name: string;
  readonly last: ReturnType<typeof useConversation>['messages'][number] | undefined;
}

/** Announces new messages of the team to screen readers, and no earlier ones. */
function News({ texts, name, last }: NewsProps) {
  const begun = useRef<string | null>(null);
  const [said, setSaid] = useState('');
  const isTeam = last?.delivery === 'sent' && last.sender?.type !== 'user';
  const key = isTeam ? last.key : null;
  const body = isTeam ? lineOf(last, texts) : '';
  useEffect(() => {
    if (last === undefined) return;
    if (begun.current !== null && begun.current !== key && key !== null) setSaid(texts.news(name, body));
    begun.current = key ?? '';
  }, [last, key, body, name, texts]);
  return (
    <p class="hidden-visually" aria-live="polite">
      {said}
    </p>
  );
}
