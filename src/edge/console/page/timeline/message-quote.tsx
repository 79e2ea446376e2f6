import { CornerUpLeft } from 'lucide';
import type { TimelineMessage } from '../../../../contract/client/index.ts';
import { Icon } from '../../../../platform/ui/icon.tsx';
import { plainLine } from '../../../../platform/ui/plain-line.ts';
import { showMessage } from '../shell/place.ts';

export interface MessageQuoteProps {
  readonly message: TimelineMessage;
  readonly conversationId: string;
}

/** What a message replies to, which leads there. */
export function MessageQuote({ message, conversationId }: MessageQuoteProps) {
  const { reply_to_id: id, reply_to: original } = message;
  if (id === null || id === undefined) return null;
  const name = original?.sender?.name;
  const isGone = original !== null && original.deleted_at !== null;
  const text = isGone ? 'Deleted message' : plainLine(original?.body ?? '') || 'A message without text';
  return (
    <button type="button" class="message-quote" onClick={() => showMessage(conversationId, id)}>
      <Icon of={CornerUpLeft} size={14} />
      <span class="hidden-visually">Reply to </span>
      {name && <b>{name}</b>}
      <span class="message-quote-text">{original === null ? '…' : text}</span>
    </button>
  );
}
