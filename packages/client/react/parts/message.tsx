import { memo, type NamedExoticComponent, type ReactNode } from 'react';
import type { LiveConversation, TimelineMessage } from '../../index.ts';
import { authorIdOf } from '../headless/index.ts';
import { Attachments } from './attachments.tsx';
import { Avatar } from './avatar.tsx';
import { MessageText } from './message-text.tsx';
import { Time, timeOf } from './times.tsx';
import { type PartProps, type Words, wordsOf } from './words.ts';

/** What a message offers. */
export interface MessageActions {
  /** The emoji that are offered; 👍 ❤️ 😄 by default. */
  readonly reactions?: readonly string[] | undefined;
  /** Opens the thread of a message. Without it messages offer no reply. */
  readonly onThread?: ((messageId: string) => void) | undefined;
  /** Begins an edit of a message of the caller. Without it messages offer none. */
  readonly onEdit?: ((message: TimelineMessage) => void) | undefined;
  /** Draws the text of a message otherwise. */
  readonly renderText?: ((message: TimelineMessage) => ReactNode) | undefined;
}

/** The properties of a message. */
export interface MessageProps extends PartProps, MessageActions {
  /** The message. */
  readonly message: TimelineMessage;
  /** The open conversation of the message. */
  readonly live: LiveConversation | undefined;
  /** The id of the caller's actor. */
  readonly ownId: string;
  /** Whether it goes on from the message above it, without name and picture. */
  readonly continues?: boolean | undefined;
  /** Whether it is the message that the Tab key leads to. */
  readonly isTabStop?: boolean | undefined;
  /** Whether the reader was led to it. */
  readonly isFound?: boolean | undefined;
  /** Leads to the message that this one replies to. */
  readonly onJump?: ((messageId: string) => void) | undefined;
}

/** A message: the same object until it changes, so that the others are not rendered again. */
export const Message: NamedExoticComponent<MessageProps> = memo((props: MessageProps) => {
  const { message, live, ownId, continues = false, isTabStop = true, isFound = false, onJump } = props;
  const { locale, timeZone, renderText } = props;
  const words = wordsOf(props.words);
  const { sender, body, delivery, created_at: at, reply_to: quoted } = message;
  const name = sender?.name ?? words.somebody;
  const isDeleted = message.deleted_at !== null;
  const isOwn = ownId !== '' && authorIdOf(message) === ownId;
  const text = isDeleted ? words.deleted : (body ?? '');
  const tabIndex = isTabStop ? 0 : -1;
  return (
    <article
      data-message={message.id ?? message.key}
      className="parley-message"
      data-own={isOwn}
      data-continues={continues}
      data-delivery={delivery}
      data-found={isFound}
      aria-label={`${name}, ${timeOf(at, { locale, timeZone })}: ${text}`}
      aria-busy={delivery === 'pending' || message.pending === true}
      tabIndex={tabIndex}
    >
      {!continues && (
        <header className="parley-message-head">
          <Avatar name={sender?.name} url={sender?.avatar_url} />
          <b className="parley-message-author" dir="auto">
            {name}
          </b>
          <Time at={at} locale={locale} timeZone={timeZone} />
        </header>
      )}
      <div className="parley-message-body">
        {quoted !== null && onJump !== undefined && (
          <button
            type="button"
            className="parley-quote"
            onClick={() => onJump(quoted.id)}
            tabIndex={tabIndex}
          >
            <b>{quoted.sender?.name}</b> {quoted.body}
          </button>
        )}
        {isDeleted ? <p className="parley-message-deleted">{text}</p> : null}
        {!isDeleted && (renderText?.(message) ?? (text !== '' && <MessageText text={text} />))}
        {!isDeleted && <Attachments attachments={message.attachments} words={words} />}
        {message.edited_at !== null && !isDeleted && <small className="parley-edited">{words.edited}</small>}
        {delivery === 'pending' && <small className="parley-pending">{words.sending}</small>}
        {delivery === 'failed' && <Failed message={message} live={live} words={words} />}
        {delivery === 'sent' && !isDeleted && <Actions {...props} words={words} isOwn={isOwn} />}
      </div>
    </article>
  );
});

interface FailedProps {
  readonly message: TimelineMessage;
  readonly live: LiveConversation | undefined;
  readonly words: Words;
}

function Failed({ message, live, words }: FailedProps) {
  return (
    <p className="parley-failed" role="alert">
      {words.notSent} {message.delivery === 'failed' ? message.error?.message : ''}{' '}
      <button type="button" onClick={() => live?.retry(message.key).catch(() => {})}>
        {words.retry}
      </button>
      <button type="button" onClick={() => live?.discard(message.key)}>
        {words.discard}
      </button>
    </p>
  );
}

interface ActionsProps extends MessageProps {
  readonly words: Words;
  readonly isOwn: boolean;
}

function Actions(props: ActionsProps) {
  const { message, live, words, isOwn, isTabStop = true, onThread, onEdit, reactions = REACTIONS } = props;
  const { id, thread, reply_to_id: rootId } = message;
  if (id === null) return null;
  const given = message.reactions ?? [];
  const offered = reactions.filter((emoji) => given.every((one) => one.emoji !== emoji));
  const react = (emoji: string, isMine: boolean) =>
    (isMine ? live?.unreact(id, emoji) : live?.react(id, emoji))?.catch(() => {});
  const replies = thread?.reply_count ?? 0;
  // Of a timeline, the Tab key leads to one message and what it offers.
  const tabIndex = isTabStop ? 0 : -1;
  return (
    <>
      <div className="parley-reactions">
        {given.map(({ emoji, count, mine }) => (
          <button
            key={emoji}
            type="button"
            className="parley-reaction"
            aria-label={`${words.react(emoji)}, ${count}`}
            aria-pressed={mine}
            onClick={() => react(emoji, mine)}
            tabIndex={tabIndex}
          >
            {emoji} {count}
          </button>
        ))}
        {onThread !== undefined && replies > 0 && (
          <button type="button" className="parley-replies" onClick={() => onThread(id)} tabIndex={tabIndex}>
            {words.replies(replies)}
          </button>
        )}
      </div>
      <div className="parley-actions">
        {offered.map((emoji) => (
          <button
            key={emoji}
            type="button"
            aria-label={words.react(emoji)}
            onClick={() => react(emoji, false)}
            tabIndex={tabIndex}
          >
            {emoji}
          </button>
        ))}
        {onThread !== undefined && (
          <button type="button" onClick={() => onThread(rootId ?? id)} tabIndex={tabIndex}>
            {words.reply}
          </button>
        )}
        {isOwn && onEdit !== undefined && (
          <button type="button" onClick={() => onEdit(message)} tabIndex={tabIndex}>
            {words.edit}
          </button>
        )}
        {isOwn && (
          <button type="button" onClick={() => live?.delete(id).catch(() => {})} tabIndex={tabIndex}>
            {words.delete}
          </button>
        )}
      </div>
    </>
  );
}

const REACTIONS: readonly string[] = ['👍', '❤️', '😄'];
