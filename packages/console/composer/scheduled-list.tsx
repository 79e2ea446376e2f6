import { useConversation } from '@parley/client/react';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { IconButton } from '@parley/ui/elements/button.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { fieldTime } from '@parley/ui/text/field-time.ts';
import { fullTimeOf } from '@parley/ui/text/time.ts';
import { Clock, Pencil, SendHorizontal, Trash2 } from 'lucide';
import { useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { MessageEdit } from '../writing/message-edit.tsx';
import { whenText } from '../writing/send-times.ts';
import { useStanding } from '../writing/use-standing.ts';

/** The messages of a conversation that wait for their time. */
export function ScheduledList({ conversationId }: { readonly conversationId: string }) {
  const { scheduled } = useConversation(conversationId);
  if (scheduled.length === 0) return null;
  return (
    <details class="scheduled-list">
      <summary>
        <Icon of={Clock} size={14} /> {texts.composer.scheduled(scheduled.length)}
      </summary>
      <ul>
        {scheduled.map((message) => (
          <ScheduledRow key={message.id} conversationId={conversationId} message={message} />
        ))}
      </ul>
    </details>
  );
}

interface RowProps {
  readonly conversationId: string;
  readonly message: ChatMessage;
}

function ScheduledRow({ conversationId, message }: RowProps) {
  const { me, can } = useSignedIn();
  const { live } = useConversation(conversationId);
  const { runsConversation } = useStanding(conversationId);
  const { isBusy, problem, run } = useAction();
  const [isEditing, setEditing] = useState(false);
  const { id, body, author, author_id, visibility, attachments, scheduled_at } = message;
  const isOwn = author_id === me.actor.id;
  const mayEnd = isOwn || runsConversation;
  if (isEditing) {
    return (
      <li class="scheduled-row">
        <MessageEdit
          conversationId={conversationId}
          message={message}
          time={fieldTime(new Date(scheduled_at!))}
          onSave={(change) => live?.edit(id, change)}
          onEnd={() => setEditing(false)}
        />
      </li>
    );
  }
  const files = attachments?.length ?? 0;
  return (
    <li class="scheduled-row">
      <div class="scheduled-row-words">
        <p class="one-line">{body ?? texts.composer.scheduledFiles(files)}</p>
        <small>
          <time dateTime={scheduled_at!} title={fullTimeOf(scheduled_at!)}>
            {whenText(new Date(scheduled_at!))}
          </time>
          {visibility === 'external' && <strong>{texts.composer.toCustomer}</strong>}
          {!isOwn && texts.composer.by(author?.name ?? texts.composer.anotherPerson)}
        </small>
        <Problem text={problem} />
      </div>
      {isOwn && can('messaging:update') && (
        <IconButton icon={Pencil} label={texts.composer.editScheduled} onClick={() => setEditing(true)} />
      )}
      {mayEnd && (
        <>
          <IconButton
            icon={SendHorizontal}
            label={texts.composer.sendNow}
            disabled={isBusy}
            onClick={() => run(async () => live?.sendNow(id))}
          />
          <IconButton
            icon={Trash2}
            label={texts.composer.cancelScheduled}
            disabled={isBusy}
            onClick={() => run(async () => live?.cancel(id))}
          />
        </>
      )}
    </li>
  );
}
