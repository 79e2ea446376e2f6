import type { ReactElement, ReactNode } from 'react';
import type { Conversation, InboxQuery } from '../../index.ts';
import { type InitialPage, useClient, useInbox } from '../index.ts';
import { moveFocus } from './move-focus.ts';
import { Time } from './times.tsx';
import { type PartProps, type Words, wordsOf } from './words.ts';

/** The properties of an inbox. */
export interface InboxProps extends PartProps, InitialPage<Conversation> {
  /** Which conversations it has; all of the caller by default. */
  readonly query?: InboxQuery | undefined;
  /** The id of the open conversation. */
  readonly selected?: string | null | undefined;
  /** Called with the id of the conversation that the person chose. */
  readonly onSelect: (conversationId: string) => void;
  /** Draws the name of a conversation otherwise. */
  readonly renderName?: ((conversation: Conversation) => ReactNode) | undefined;
}

/** The conversations of a person, with what is unread. */
export function Inbox(props: InboxProps): ReactElement {
  const { query, selected, onSelect, renderName, initial, ...look } = props;
  const { conversations, hasMore, status, error, live } = useInbox(query, { initial });
  const words = wordsOf(look.words);
  const ownId = useClient()?.actor?.id;
  return (
    <nav
      className="parley-inbox"
      aria-label={words.conversations}
      onKeyDown={(event) => moveFocus(event, '.parley-inbox-row')}
    >
      {conversations.map((conversation) => {
        const { id, unread, last_message: last } = conversation;
        return (
          <button
            key={id}
            type="button"
            className="parley-inbox-row"
            aria-current={id === selected}
            data-unread={unread > 0}
            onClick={() => onSelect(id)}
          >
            <span className="parley-inbox-name" dir="auto">
              {renderName?.(conversation) ?? nameOf(conversation, ownId, words)}
            </span>
            {last !== null && <Time at={last.created_at} {...look} />}
            <span className="parley-inbox-text" dir="auto">
              {last === null ? '' : (last.body ?? words.files)}
            </span>
            {unread > 0 && (
              <span className="parley-badge">
                <span aria-hidden="true">{unread}</span>
                <span className="parley-unseen">{words.unreadCount(unread)}</span>
              </span>
            )}
          </button>
        );
      })}
      {status === 'ready' && conversations.length === 0 && (
        <p className="parley-empty">{words.noConversations}</p>
      )}
      {status === 'loading' && conversations.length === 0 && <p className="parley-empty">{words.loading}</p>}
      {status === 'error' && (
        <p className="parley-failed" role="alert">
          {error?.message}
        </p>
      )}
      {hasMore && (
        <button type="button" className="parley-more" onClick={() => live?.loadMore().catch(() => {})}>
          {words.more}
        </button>
      )}
    </nav>
  );
}

/** Direct messages have no title: the names of the others stand for it. */
function nameOf({ title, participants }: Conversation, ownId: string | undefined, words: Words): string {
  const others = (participants ?? []).filter(({ actor }) => actor !== null && actor.id !== ownId);
  const names = others.map(({ actor }) => actor?.name ?? words.somebody);
  return title ?? (names.join(', ') || words.conversation);
}
