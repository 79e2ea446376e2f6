/**
 * A chat page of the SDK's parts: an inbox, a timeline with typing and files, threads, edits, the
 * bell, and search over a hook. ../README.md says how it is started.
 */

import { type Conversation, connect, type TimelineMessage } from '@parley/client';
import { ParleyProvider, useConnection, useConversation, useSearch, useUnread } from '@parley/client/react';
import { Bell, Composer, Inbox, Thread, Timeline } from '@parley/client/react/parts';
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';

/** What is open: a conversation, the message that a hit leads to, and a thread beside it. */
interface Place {
  readonly id?: string | null | undefined;
  readonly message?: string | null | undefined;
  readonly threadId?: string;
}

function Chat() {
  const [{ id, message, threadId }, open] = useState<Place>({});
  return (
    <div className={id ? 'chat open' : 'chat'}>
      <aside className="side">
        <Status onOpen={open} />
        <Search onOpen={open} />
        <Inbox selected={id} onSelect={(id) => open({ id })} />
      </aside>
      {!id && <main className="none">Choose a conversation.</main>}
      {id && (
        <Opened
          key={id}
          id={id}
          message={message}
          onThread={(threadId) => open({ id, threadId })}
          onBack={() => open({})}
        />
      )}
      {id && threadId && (
        <Thread key={threadId} conversationId={id} threadId={threadId} onClose={() => open({ id })} />
      )}
    </div>
  );
}

function Status({ onOpen }: { onOpen: (place: Place) => void }) {
  const { state, error } = useConnection();
  const { conversations } = useUnread();
  return (
    <header className="head">
      <h1>Messages {conversations ? <small>{conversations} unread</small> : null}</h1>
      <output>{error?.message ?? state}</output>
      <Bell
        onOpen={({ conversation_id, message_id }) => onOpen({ id: conversation_id, message: message_id })}
      />
    </header>
  );
}

function Search({ onOpen }: { onOpen: (place: Place) => void }) {
  const [words, setWords] = useState('');
  const { hits, status, error } = useSearch(words);
  return (
    <search>
      <input
        type="search"
        aria-label="Search"
        placeholder="Search"
        value={words}
        onChange={({ target }) => setWords(target.value)}
      />
      {words.trim() !== '' && (
        <ul aria-live="polite">
          {hits.flatMap(({ message }) =>
            message === null ? (
              []
            ) : (
              <li key={message.id}>
                <button
                  type="button"
                  onClick={() => onOpen({ id: message.conversation_id, message: message.id })}
                >
                  {message.body}
                </button>
              </li>
            ),
          )}
          {hits.length === 0 && <li>{status === 'ready' ? 'Nothing found.' : (error?.message ?? '…')}</li>}
        </ul>
      )}
    </search>
  );
}

interface OpenedProps {
  readonly id: string;
  readonly message: string | null | undefined;
  readonly onThread: (messageId: string) => void;
  readonly onBack: () => void;
}

function Opened({ id, message, onThread, onBack }: OpenedProps) {
  const { conversation } = useConversation(id);
  const [editing, setEditing] = useState<TimelineMessage | null>(null);
  return (
    <main>
      <header className="head">
        <button type="button" className="back" onClick={onBack}>
          Back
        </button>
        <h2>{conversation === null ? '…' : nameOf(conversation)}</h2>
      </header>
      <Timeline conversationId={id} message={message} onThread={onThread} onEdit={setEditing} />
      <Composer conversationId={id} editing={editing} onEdited={() => setEditing(null)} />
    </main>
  );
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
