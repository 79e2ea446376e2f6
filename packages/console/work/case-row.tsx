import type { Conversation } from '@parley/client';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { Button } from '@parley/ui/elements/button.tsx';
import { notifyFailure } from '@parley/ui/feedback/notify.ts';
import { memo } from 'preact/compat';
import { useState } from 'preact/hooks';
import { lastMessageOf } from '../inbox/last-message.ts';
import { Waits } from '../inbox/waits.tsx';
import { nameOf } from '../names/conversation-name.ts';
import { useActor } from '../names/use-actor.ts';
import { Link } from '../nav/link.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';

/** A case whose customer waits for an answer. */
export const CaseRow = memo(function CaseRow({ conversation }: { readonly conversation: Conversation }) {
  const { client, me, can } = useSignedIn();
  const [isTaking, setTaking] = useState(false);
  const { id, last_message: last, assignee_id: assignee, waiting_since: waiting } = conversation;
  const { name, avatarUrl } = nameOf(conversation, me.actor.id);
  const line = lastMessageOf(conversation, me.actor.id);
  const other = useActor(line?.senderId ?? null);
  const sender = line?.senderId === me.actor.id ? texts.work.you : other?.name;
  const take = () => {
    setTaking(true);
    client.conversations.assign(id, me.actor.id).catch((error: unknown) => {
      setTaking(false);
      notifyFailure(error);
    });
  };
  return (
    <li class="case-line">
      <Link
        class="case-row"
        to={{ main: { at: 'conversation', id, ...(last !== null && { message: last.id }) } }}
      >
        <Avatar name={name} url={avatarUrl} />
        <strong>{name}</strong>
        {waiting && <Waits since={waiting} />}
        <span class="case-row-last">
          {sender && `${sender}: `}
          {line === null ? texts.work.noMessages : line.text}
        </span>
      </Link>
      {assignee === null && can('messaging:update') && (
        <Button disabled={isTaking} aria-label={texts.work.takeCase(name)} onClick={take}>
          {texts.work.take}
        </Button>
      )}
    </li>
  );
});
