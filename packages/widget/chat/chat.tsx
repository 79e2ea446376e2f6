import { useConnection, useInbox } from '@parley/client/react';
import type { Upload } from '@parley/client/writing/uploads.ts';
import type { VisitorSession, WidgetPublic } from '@parley/protocol/resources/widget.ts';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Host } from '../host/host.ts';
import type { Asked } from '../identity/asked.ts';
import type { Identified, Identity } from '../identity/identity.ts';
import { Refused } from '../identity/widget-calls.ts';
import type { Speech } from '../texts/texts.ts';
import { Conversation } from './conversation.tsx';
import type { WrittenMessage } from './field.tsx';
import { Head } from './head.tsx';
import { Home } from './home.tsx';
import { KeptWriting } from './kept-writing.ts';
import { Moved } from './moved.tsx';
import { Start } from './start.tsx';

export interface ChatProps {
  readonly widget: WidgetPublic;
  readonly host: Host | null;
  readonly identity: Identity;
  /** The mail that this browser has asked for, to confirm an address. */
  readonly asked: Asked;
  /** Called with the session of the customer whose code was entered. */
  readonly onEntered: (session: VisitorSession) => void;
  readonly now: Identified;
  readonly isShown: boolean;
  readonly speech: Speech;
}

/** The chat of one visitor: the conversation that was opened last, the list, or a new one. */
export function Chat(props: ChatProps) {
  const { widget, host, identity, asked, now, isShown, speech } = props;
  const { language, texts } = speech;
  const { conversations, summary, status } = useInbox({ include: ['last_message'] });
  const { state } = useConnection();
  // Without a session of its own, a mail was asked for: its link was opened elsewhere.
  const [isLeft, setLeft] = useState(false);
  const moved = now.kind === 'none' && !isLeft ? asked.mail : null;
  const [chosen, setChosen] = useState<string | 'list' | 'new' | null>(null);
  // The case of a message that was not sent: the next try goes into it.
  const begun = useRef<string | null>(null);
  const unread = summary?.unread ?? 0;
  // A further answer in a conversation that is unread already is news for the bubble as well.
  const news = unread > 0 ? conversations[0]?.last_message?.id : undefined;
  useEffect(() => host?.showUnread(unread), [host, unread, news]);
  // The font comes after the scripts: it is 48 KB, and the text can be read without it.
  useEffect(() => document.documentElement.classList.add('has-font'), []);
  const newest = conversations.find(({ status }) => status === 'active');
  const person = now.kind === 'none' ? null : now.client?.actor?.id;
  const writing = useRef<KeptWriting | null>(null);
  if (person !== undefined) {
    writing.current ??= new KeptWriting(widget.id, person);
    writing.current.own(person);
  }
  const isRead = now.kind === 'none' || status === 'ready' || chosen === 'new';
  const isKnown = isRead && writing.current !== null;
  const at = chosen ?? writing.current?.begunAt ?? newest?.id ?? 'new';
  const onEntered = (session: VisitorSession) => {
    // The text in the field goes along. Without a field the newest conversation is shown.
    if (moved === null && at !== 'list') writing.current?.moveTo(session.customer_id, at);
    props.onEntered(session);
  };
  const beginVisitor = () => {
    // The written text and chosen files stay while the visitor begins.
    setChosen('new');
    return identity.begin();
  };
  const upload: Upload = async (...call) => (await beginVisitor()).upload(...call);
  const begin = async (message: WrittenMessage) => {
    try {
      const client = await beginVisitor();
      begun.current ??= (
        await client.conversations.create({ type: 'group', audience: 'customer', widget_id: widget.id })
      ).id;
      await client.send(begun.current, message);
      setChosen(begun.current);
      begun.current = null;
    } catch (error) {
      throw new Error(messageOf(error, texts.tooMany, texts.problem), { cause: error });
    }
  };
  const shown = widget.texts[language];
  const greeting = shown?.greeting ?? texts.greeting;
  return (
    <main class="chat">
      <Head
        widget={widget}
        texts={texts}
        isLarge={!isKnown || at === 'list' || at === 'new'}
        onBack={at !== 'list' && conversations.length > 0 ? () => setChosen('list') : undefined}
        onClose={host === null ? undefined : () => host.close()}
      />
      {now.client !== null && state === 'offline' && (
        <p class="chat-banner" role="status">
          {texts.offlineNetwork}
        </p>
      )}
      {!isKnown && <div class="chat-body shell-body" aria-busy="true" />}
      {isKnown && at === 'list' && (
        <Home
          texts={texts}
          greeting={greeting}
          teamName={widget.persona.name}
          person={person}
          conversations={conversations}
          onOpen={setChosen}
          onNew={() => setChosen('new')}
        />
      )}
      {isKnown && moved !== null && (
        <Moved
          texts={texts}
          widgetId={widget.id}
          mail={moved}
          onEntered={onEntered}
          onNew={() => {
            asked.forget();
            setLeft(true);
          }}
        />
      )}
      {isKnown && moved === null && at === 'new' && (
        <Start
          texts={texts}
          greeting={greeting}
          offline={widget.is_open ? null : (shown?.offline ?? texts.offline)}
          writing={writing.current!}
          onSend={begin}
          upload={upload}
        />
      )}
      {isKnown && at !== 'list' && at !== 'new' && (
        <Conversation
          key={at}
          id={at}
          texts={texts}
          isShown={isShown}
          widget={widget}
          language={language}
          writing={writing.current!}
          asked={asked}
          onEntered={onEntered}
          offersAddress={now.kind === 'visitor' && widget.confirms_addresses}
        />
      )}
    </main>
  );
}

function messageOf(error: unknown, tooMany: string, problem: string): string {
  const code = (error as { readonly code?: string }).code;
  if (code === 'limit_exceeded') return tooMany;
  return error instanceof Refused || code !== undefined ? `${problem} ${(error as Error).message}` : problem;
}
