import type { TimelineMessage } from '@parley/client';
import { previewOf } from '@parley/markdown/message-text.ts';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { CornerUpLeft } from 'lucide';
import { showMessage } from '../nav/place.ts';
import { texts } from '../texts/texts.ts';
import { useMessageContext } from './message-context.tsx';

/** The message to which another replies, as a link. */
export function MessageQuote({ message }: { readonly message: TimelineMessage }) {
  const { conversationId } = useMessageContext();
  const { reply_to_id: id, reply_to: original } = message;
  if (id === null || id === undefined) return null;
  const name = original?.sender?.name;
  const isGone = original !== null && original.deleted_at !== null;
  const text = isGone
    ? texts.message.deleted
    : (original && previewOf(original)) || texts.message.withoutText;
  return (
    <button type="button" class="message-quote" onClick={() => showMessage(conversationId, id)}>
      <Icon of={CornerUpLeft} size={14} />
      <span class="hidden-visually">{texts.message.replyTo}</span>
      {name && <b>{name}</b>}
      <span class="message-quote-text">{original === null ? '…' : text}</span>
    </button>
  );
}
