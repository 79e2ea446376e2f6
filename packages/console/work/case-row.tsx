import type { Conversation } from '@parley/client';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { fullTimeOf, shortTimeOf } from '@parley/ui/text/time.ts';
import { memo } from 'preact/compat';
import { lastMessageOf } from '../inbox/last-message.ts';
import { nameOf } from '../names/conversation-name.ts';
import { useActor } from '../names/use-actor.ts';
import { Link } from '../nav/link.tsx';
import { useSignedIn } from '../session/session-context.tsx';

/** A case whose customer waits for an answer. */
export const CaseRow = memo(function CaseRow({ conversation }: { readonly conversation: Conversation }) {
  const { me } = useSignedIn();
  const { id, last_message: last, created_at } = conversation;
  const { name, avatarUrl } = nameOf(conversation, me.actor.id);
  const line = lastMessageOf(conversation, me.actor.id);
  const other = useActor(line?.senderId ?? null);
  const sender = line?.senderId === me.actor.id ? 'You' : other?.name;
  const at = conversation.last_message_at ?? created_at;
  return (
    <li>
      <Link
        class="case-row"
        to={{ main: { at: 'conversation', id, ...(last !== null && { message: last.id }) } }}
      >
        <Avatar name={name} url={avatarUrl} />
        <strong>{name}</strong>
        <time dateTime={at} title={fullTimeOf(at)}>
          {shortTimeOf(at)}
        </time>
        <span class="case-row-last">
          {sender && `${sender}: `}
          {line === null ? 'No messages yet' : line.text}
        </span>
      </Link>
    </li>
  );
});
