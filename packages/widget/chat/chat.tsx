import { useConnection, useInbox } from '@parley/client/react';
import type { WidgetPublic } from '@parley/protocol/resources/widget.ts';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { IconButton } from '@parley/ui/elements/button.tsx';
import type { Upload } from '@parley/ui/files/uploads.ts';
import { ArrowLeft, X } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Host } from '../host/host.ts';
import type { Identified, Identity } from '../identity/identity.ts';
import { Refused } from '../identity/widget-calls.ts';
import { TEXTS } from '../texts.ts';
import { Cases } from './cases.tsx';
import { Conversation } from './conversation.tsx';
import type { WrittenMessage } from './field.tsx';
import { KeptWriting } from './kept-writing.ts';
import { Start } from './start.tsx';

export interface ChatProps {
  readonly widget: WidgetPublic;
  readonly host: Host | null;
  readonly identity: Identity;
  readonly now: Identified;
  readonly isShown: boolean;
  readonly language: 'en' | 'ar';
}

/** The chat of one visitor: the conversation that was opened last, the list, or a new one. */
export function Chat({ widget, host, identity, now, isShown, language }: ChatProps) {
  const texts = TEXTS[language];
  const { conversations, summary, status } = useInbox({ include: ['last_message'] });
  const { state } = useConnection();
  const [chosen, setChosen] = useState<string | 'list' | 'new' | null>(null);
  // The case of a message that was not sent: the next try goes into it.
  const begun = useRef<string | null>(null);
  const unread = summary?.unread ?? 0;
  useEffect(() => host?.showUnread(unread), [host, unread]);
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
  return (
    <main class="chat">
      <header class="chat-head">
        {at !== 'list' && conversations.length > 0 && (
          <IconButton
            icon={ArrowLeft}
            label={texts.earlier}
            class="chat-back"
            onClick={() => setChosen('list')}
          />
        )}
        <Avatar name={widget.persona.name} url={widget.persona.avatar_url} size={32} />
        <h1>{widget.persona.name}</h1>
        {host !== null && <IconButton icon={X} label={texts.close} onClick={() => host.close()} />}
      </header>
      {now.client !== null && state === 'offline' && (
        <p class="chat-banner" role="status">
          {texts.offlineNetwork}
        </p>
      )}
      {!isKnown && <div class="chat-body" aria-busy="true" />}
      {isKnown && at === 'list' && (
        <Cases
          texts={texts}
          conversations={conversations}
          onOpen={setChosen}
          onNew={() => setChosen('new')}
        />
      )}
      {isKnown && at === 'new' && (
        <Start
          texts={texts}
          greeting={shown.greeting ?? texts.greeting}
          offline={widget.is_open ? null : (shown.offline ?? texts.offline)}
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
