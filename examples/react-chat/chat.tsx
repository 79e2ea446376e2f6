/**
 * A chat page: an inbox, a timeline with typing and files, threads, and search. ../README.md says
 * how it is started.
 */

import {
  type Conversation,
  connect,
  type LiveConversation,
  type SendMessageBody,
  type TimelineMessage,
} from '@parley/client';
import {
  ParleyProvider,
  useConnection,
  useConversation,
  useInbox,
  useSearch,
  useThread,
  useTyping,
  useUnread,
} from '@parley/client/react';
import {
  type ComponentProps,
  type FormEvent,
  memo,
  type ReactNode,
  StrictMode,
  useEffect,
  useRef,
  useState,
} from 'react';
import { createRoot } from 'react-dom/client';

function Chat() {
  const [{ id, threadId }, open] = useState<{ id?: string; threadId?: string }>({});
  return (
    <div className={id === undefined ? 'chat' : 'chat open'}>
      <aside>
        <Status />
        <Search onOpen={(id) => open({ id })} />
        <Inbox opened={id} onOpen={(id) => open({ id })} />
      </aside>
      {id === undefined && <main className="none">Choose a conversation.</main>}
      {id && (
        <Timeline key={id} id={id} onThread={(threadId) => open({ id, threadId })} onBack={() => open({})} />
      )}
      {id && threadId && <Thread key={threadId} id={id} threadId={threadId} onClose={() => open({ id })} />}
    </div>
  );
}

function Status() {
  const { state, error } = useConnection();
  const { conversations } = useUnread();
  return (
    <header>
      <h1>Messages {conversations ? <span className="badge">{conversations} unread</span> : null}</h1>
      <output className="state">{error?.message ?? state}</output>
    </header>
  );
}

function Search({ onOpen }: { onOpen: (conversationId: string) => void }) {
  const [words, setWords] = useState('');
  const { hits, status, error } = useSearch(words);
  const messages = hits.flatMap(({ message }) => message ?? []);
  return (
    <div className="search">
      <input
        type="search"
        aria-label="Search"
        placeholder="Search"
        value={words}
        onChange={({ target }) => setWords(target.value)}
      />
      {words.trim() !== '' && (
        <ul className="found" aria-live="polite">
          {messages.map(({ id, conversation_id, body, created_at }) => (
            <li key={id}>
              <Button className="row" onClick={() => onOpen(conversation_id!)}>
                <span>{body}</span> <Time at={created_at} />
              </Button>
            </li>
          ))}
          {hits.length === 0 && <li>{status === 'ready' ? 'Nothing found.' : (error?.message ?? '…')}</li>}
        </ul>
      )}
    </div>
  );
}

function Inbox({ opened, onOpen }: { opened: string | undefined; onOpen: (id: string) => void }) {
  const { conversations, hasMore, status, error, live } = useInbox();
  return (
    <nav aria-label="Conversations">
      {conversations.map((conversation) => (
        <Button
          key={conversation.id}
          aria-current={conversation.id === opened}
          className={conversation.unread ? 'row unread' : 'row'}
          onClick={() => onOpen(conversation.id)}
        >
          <span>{nameOf(conversation)}</span>
          {conversation.unread ? <span className="badge">{conversation.unread}</span> : <span />}
          <small>{conversation.last_message?.body ?? ''}</small>
        </Button>
      ))}
      {status !== 'ready' && <p className="empty">{error?.message ?? 'Loading …'}</p>}
      {hasMore && <Button onClick={() => live?.loadMore().catch(() => {})}>More conversations</Button>}
    </nav>
  );
}

type TimelineProps = { id: string; onThread: (messageId: string) => void; onBack: () => void };

function Timeline({ id, onThread, onBack }: TimelineProps) {
  const { messages, hasOlder, conversation, status, live } = useConversation(id);
  const newest = messages.at(-1)?.key;
  useEffect(() => {
    if (newest !== undefined && !document.hidden) live?.markRead().catch(() => {});
  }, [newest, live]);
  return (
    <main>
      <header>
        <Button className="back" onClick={onBack}>
          Back
        </Button>
        <h2>{conversation === null ? '…' : nameOf(conversation)}</h2>
      </header>
      <Messages messages={messages} live={live} onThread={onThread}>
        {status === 'ended' && <li>You can no longer read this conversation.</li>}
        {status === 'ready' && hasOlder && (
          <li>
            <Button onClick={() => live?.loadOlder().catch(() => {})}>Older messages</Button>
          </li>
        )}
      </Messages>
      <TypingLine id={id} />
      <Composer id={id} onSend={(body) => live?.send(body)} />
    </main>
  );
}

interface MessagesProps {
  messages: readonly TimelineMessage[];
  live: LiveConversation | undefined;
  onThread?: (messageId: string) => void;
  children?: ReactNode;
}

function Messages({ messages, children, ...rest }: MessagesProps) {
  return (
    <div className="scroll" role="log" aria-label="Messages">
      <ol className="messages">
        {children}
        {messages.map((message) => (
          <Message key={message.key} message={message} {...rest} />
        ))}
      </ol>
    </div>
  );
}

type MessageProps = Pick<MessagesProps, 'live' | 'onThread'> & { message: TimelineMessage };

/** A message is the same object until it changed: the others are not rendered again. */
const Message = memo(({ message, live, onThread }: MessageProps) => {
  const { id, key, body, sender, delivery, attachments, reactions, reply_to: quoted } = message;
  const thumb = reactions?.find(({ emoji }) => emoji === '👍');
  const isMine = thumb !== undefined && 'mine' in thumb && thumb.mine;
  const react = () => (isMine ? live?.unreact(id!, '👍') : live?.react(id!, '👍'))?.catch(() => {});
  if (message.deleted_at !== null) return <li className="empty">A message was deleted.</li>;
  return (
    <li className={delivery}>
      <b>{sender?.name ?? '…'}</b> <Time at={message.created_at} />
      {quoted && onThread && <blockquote>{quoted.body}</blockquote>}
      <p>{body}</p>
      {attachments?.map(({ kind, url, filename }) => (
        <a key={url} className="file" href={url ?? undefined} target="_blank" rel="noreferrer">
          {kind === 'image' && url ? <img src={url} alt={filename ?? ''} /> : `📎 ${filename}`}
        </a>
      ))}
      {delivery === 'failed' && (
        <p role="alert">
          Not sent: {message.error?.message}{' '}
          <Button onClick={() => live?.retry(key).catch(() => {})}>Try again</Button>
        </p>
      )}
      {delivery === 'sent' && (
        <p className="actions">
          <Button aria-label="Like" aria-pressed={isMine} onClick={react}>
            👍 {thumb?.count ?? ''}
          </Button>
          {onThread && (
            <Button onClick={() => onThread(quoted?.id ?? id!)}>
              {message.thread?.reply_count
                ? `Replies: ${message.thread.reply_count}`
                : quoted
                  ? 'Thread'
                  : 'Reply'}
            </Button>
          )}
        </p>
      )}
    </li>
  );
});

function Thread({ id, threadId, onClose }: { id: string; threadId: string; onClose: () => void }) {
  const { root, messages, live: thread } = useThread(id, threadId);
  const { live } = useConversation(id);
  return (
    <section aria-label="Thread">
      <header>
        <h2>Replies to {root?.sender?.name ?? '…'}</h2>
        <Button onClick={onClose}>Close</Button>
      </header>
      <Messages messages={root === null ? messages : [root, ...messages]} live={live} />
      <Composer id={id} onSend={(body) => thread?.send(body)} />
    </section>
  );
}

/** It reads who is typing alone: messages do not render it. */
function TypingLine({ id }: { id: string }) {
  const names = useTyping(id).typing.map(({ name }) => name ?? 'Somebody');
  return (
    <p className="typing" aria-live="polite">
      {names.length > 0 && `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} typing …`}
    </p>
  );
}

type ComposerProps = { id: string; onSend: (message: SendMessageBody) => Promise<unknown> | undefined };

function Composer({ id, onSend }: ComposerProps) {
  const { live } = useConversation(id);
  const { declare } = useTyping(id);
  const [body, setBody] = useState('');
  const [error, setError] = useState('');
  const files = useRef<HTMLInputElement>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const chosen = Array.from(files.current?.files ?? []);
    if (live === undefined || (body.trim() === '' && chosen.length === 0)) return;
    setBody('');
    setError('');
    if (files.current !== null) files.current.value = '';
    try {
      const attachments = await Promise.all(chosen.map((file) => live.upload(file)));
      // A message that is refused is shown as failed.
      void onSend({ body, ...(attachments.length > 0 && { attachments }) })?.catch(() => {});
    } catch (thrown) {
      setBody(body);
      setError(`Not uploaded: ${(thrown as Error).message}`);
    }
  };
  return (
    <form onSubmit={submit}>
      <input
        aria-label="Message"
        placeholder="Write a message"
        value={body}
        onInput={({ currentTarget }) => declare(currentTarget.value !== '')}
        onChange={({ target }) => setBody(target.value)}
      />
      <input ref={files} type="file" multiple aria-label="Files" />
      <button type="submit">Send</button>
      {error !== '' && <p role="alert">{error}</p>}
    </form>
  );
}

function Button(props: ComponentProps<'button'>) {
  return <button type="button" {...props} />;
}

function Time({ at }: { at: string }) {
  const text = new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  return <time dateTime={at}>{text}</time>;
}

/** Direct messages have no title: the names of the others stand for it. */
function nameOf({ title, participants }: Conversation): string {
  const others = (participants ?? []).filter(({ actor }) => actor?.id !== client.actor?.id);
  return title ?? (others.map(({ actor }) => actor?.name ?? '…').join(', ') || 'Conversation');
}

// Your backend signs the person in, and gives the page a token (guide "Tokens for pages").
const { url, account, token } = await (await fetch(`/session.json${location.search}`)).json();
const client = connect({ url, account, getToken: () => token });

createRoot(document.querySelector('#chat')!).render(
  <StrictMode>
    <ParleyProvider client={client}>
      <Chat />
    </ParleyProvider>
  </StrictMode>,
);
