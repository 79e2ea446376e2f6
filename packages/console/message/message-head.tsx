import type { TimelineMessage } from '@parley/client';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import { fullTimeOf, timeOf } from '@parley/ui/text/time.ts';
import { texts } from '../texts/texts.ts';
import type { MessageLook } from './message-look.ts';

export interface MessageHeadProps {
  readonly message: TimelineMessage;
  readonly look: MessageLook;
  readonly name: string;
  /** The actor behind the message, as far as it is known. */
  readonly author: Actor | undefined;
}

/** The author of a message, its time, and its audience. */
export function MessageHead({ message, look, name, author }: MessageHeadProps) {
  const persona = message.sender?.id === author?.id ? null : message.sender?.name;
  return (
    <p class="message-head">
      <b class="message-name">{name}</b>
      {author?.type === 'agent' && <span class="message-tag">{texts.message.agent}</span>}
      {look === 'note' && <NoteLabel />}
      {look === 'reply' && (
        <span class="message-tag message-tag-reply">
          {persona ? texts.message.toCustomerAs(persona) : texts.message.toCustomer}
        </span>
      )}
      {look === 'customer' && <span class="message-tag">{texts.message.customer}</span>}
      <time class="message-time" dateTime={message.created_at} title={fullTimeOf(message.created_at)}>
        {timeOf(message.created_at)}
      </time>
    </p>
  );
}

/** Says that only the team reads it. */
function NoteLabel() {
  return <span class="message-tag message-tag-note">{texts.message.noteToTeam}</span>;
}
