import { useConversation } from '@parley/client/react';
import type { ChatMessage, EditMessageBody } from '@parley/protocol/resources/chat-message.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { MailFields } from './mail-fields.tsx';
import { mentionsIn } from './mentions.ts';
import { MessageField, type Written } from './message-field.tsx';
import { mailOf } from './outgoing.ts';
import { momentOf } from './send-times.ts';
import { TimeField } from './time-field.tsx';

/** The shown part of the message. */
type EditedMessage = Pick<ChatMessage, 'body' | 'subject' | 'channel' | 'status'> &
  Partial<Pick<ChatMessage, 'mentions' | 'cc'>>;

export interface MessageEditProps {
  readonly conversationId: string;
  readonly message: EditedMessage;
  /** The time of a scheduled message, as the value of a field. */
  readonly time?: string;
  readonly onSave: (change: EditMessageBody) => Promise<unknown> | undefined;
  /** Sends the saved draft, by a button of its own. */
  readonly onSend?: () => Promise<unknown> | undefined;
  /** Called when the change was saved or given up. */
  readonly onEnd: () => void;
}

/** Changes a written message: a sent one, a scheduled one, or an open draft. */
export function MessageEdit({ conversationId, message, time, onSave, onSend, onEnd }: MessageEditProps) {
  const { people } = useConversation(conversationId);
  const [written, setWritten] = useState<Written>(() => ({
    text: message.body ?? '',
    mentions: (message.mentions ?? []).flatMap((id) => {
      const { name = null, type } = people.get(id) ?? {};
      return name === null ? [] : [{ id, name, type: type === 'agent' ? 'agent' : 'user' }];
    }),
  }));
  const [mail, setMail] = useState({ subject: message.subject ?? '', cc: (message.cc ?? []).join(', ') });
  const [at, setAt] = useState(time ?? '');
  const { isBusy, problem, run } = useAction();
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  // This runs with the rendering: later it would move the caret of a person who writes already.
  useLayoutEffect(() => {
    const { length } = field.current!.value;
    field.current!.focus();
    field.current!.setSelectionRange(length, length);
  }, []);
  const isMail = message.channel === 'email' && message.status !== 'sent';
  const save = async (send: MessageEditProps['onSend'] = undefined) => {
    const body = written.text.trim();
    // A message that was sent says that it was edited.
    if (message.status === 'sent' && body === message.body) return onEnd();
    const moment = time === undefined || at === time ? undefined : momentOf(at, new Date());
    const isDone = await run(async () => {
      if (moment === null) throw new Error(texts.writing.future);
      await onSave({
        body,
        mentions: mentionsIn(written.text, written.mentions).map(({ id }) => id),
        ...(isMail && { ...mailOf(mail), subject: mail.subject.trim() }),
        ...(moment !== undefined && { scheduled_at: moment.toISOString() }),
      });
      await send?.();
    });
    if (isDone) onEnd();
  };
  return (
    <form
      ref={form}
      class="message-edit"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {isMail && (
        <MailFields
          to={null}
          {...mail}
          onChange={(change) => setMail((before) => ({ ...before, ...change }))}
        />
      )}
      <MessageField
        conversationId={conversationId}
        field={field}
        written={written}
        label={texts.writing.text}
        onWritten={(change) => setWritten((before) => ({ ...before, ...change }))}
        onEnter={() => form.current?.requestSubmit()}
        onKey={(event) => {
          if (pressedKey(event) !== 'Escape') return;
          event.preventDefault();
          // Escape would also close the pane around it.
          event.stopPropagation();
          onEnd();
        }}
      />
      {time !== undefined && <TimeField value={at} onValue={setAt} />}
      <Problem text={problem} />
      <div class="message-edit-tools">
        <Button onClick={onEnd}>{texts.writing.cancel}</Button>
        <Button type="submit" {...(onSend === undefined && { look: 'primary' })} disabled={isBusy}>
          {texts.writing.save}
        </Button>
        {onSend !== undefined && (
          <Button look="primary" disabled={isBusy} onClick={() => save(onSend)}>
            {texts.writing.saveAndSend}
          </Button>
        )}
      </div>
    </form>
  );
}
