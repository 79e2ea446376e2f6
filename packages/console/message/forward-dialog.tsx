import type { SentMessage } from '@parley/client';
import { previewOf } from '@parley/markdown/message-text.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { useFound } from '@parley/ui/choices/use-found.ts';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { notify } from '@parley/ui/feedback/notify.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { useState } from 'preact/hooks';
import { nameOf } from '../names/conversation-name.ts';
import { go } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { useMessageContext } from './message-context.tsx';

export interface ForwardDialogProps {
  readonly message: SentMessage;
  readonly onClose: () => void;
}

/** Chooses a conversation by its words, and sends the content of a message there. */
export function ForwardDialog({ message, onClose }: ForwardDialogProps) {
  const { live } = useMessageContext();
  const { client, me, can } = useSignedIn();
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState<Conversation | null>(null);
  const [comment, setComment] = useState('');
  const [toCustomer, setToCustomer] = useState(false);
  // Without words, the last active conversations are found.
  const found = useFound(words, async (q) => {
    const filter = { order: 'activity', include: ['participants'], limit: 20 } as const;
    const { value } = await client.conversations.list({ ...filter, ...(q !== '' && { q }) }).next();
    return value?.data ?? [];
  });
  const { isBusy, problem, run } = useAction();
  const isCase = chosen?.audience === 'customer';
  const submit = async (event: Event) => {
    event.preventDefault();
    if (chosen === null || live === undefined) return;
    const body = {
      conversation_id: chosen.id,
      ...(comment.trim() !== '' && { body: comment.trim() }),
      ...(isCase && toCustomer && { audience: 'customer' as const }),
    };
    if (!(await run(() => live.forward(message.id, body)))) return;
    notify(texts.message.forwardedTo(nameOf(chosen, me.actor.id).name));
    onClose();
    go({ main: { at: 'conversation', id: chosen.id } });
  };
  return (
    <Dialog title={texts.message.forwardMessage} onClose={onClose}>
      <form class="forward" onSubmit={submit}>
        <blockquote class="forward-quote">{previewOf(message) || texts.message.withoutText}</blockquote>
        <input
          type="search"
          aria-label={texts.message.searchConversation}
          placeholder={texts.message.searchConversation}
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <fieldset class="forward-found">
          <legend class="hidden-visually">{texts.message.conversations}</legend>
          {found.result?.map((conversation) => {
            const { name, avatarUrl } = nameOf(conversation, me.actor.id);
            return (
              <label key={conversation.id}>
                <input
                  type="radio"
                  name="conversation"
                  checked={chosen?.id === conversation.id}
                  onChange={() => setChosen(conversation)}
                />
                <Avatar name={name} url={avatarUrl} size={24} />
                <span class="one-line">{name}</span>
              </label>
            );
          })}
          {found.result?.length === 0 && <p>{texts.message.noConversation}</p>}
        </fieldset>
        <label>
          {texts.message.yourWords}
          <input value={comment} onInput={(event) => setComment(event.currentTarget.value)} />
        </label>
        {isCase && can('messaging:send_external') && (
          <label>
            <input
              type="checkbox"
              checked={toCustomer}
              onChange={(event) => setToCustomer(event.currentTarget.checked)}
            />
            {texts.message.toCustomerToo}
          </label>
        )}
        <Problem text={problem || found.problem} />
        <div class="forward-buttons">
          <Button onClick={onClose}>{texts.message.cancel}</Button>
          <Button type="submit" look="primary" disabled={chosen === null || isBusy}>
            {texts.message.forward}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
