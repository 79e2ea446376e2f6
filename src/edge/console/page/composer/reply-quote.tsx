import { Reply, X } from 'lucide';
import { useConversation } from '../../../../contract/client/react/index.ts';
import { IconButton } from '../../../../platform/ui/button.tsx';
import { Icon } from '../../../../platform/ui/icon.tsx';

export interface ReplyQuoteProps {
  readonly conversationId: string;
  readonly messageId: string;
  readonly onCancel: () => void;
}

/** The message that the next one replies to. */
export function ReplyQuote({ conversationId, messageId, onCancel }: ReplyQuoteProps) {
  const { messages } = useConversation(conversationId);
  const message = messages.find(({ id }) => id === messageId);
  const name = message?.sender?.name ?? 'a message';
  return (
    <div class="reply-quote">
      <Icon of={Reply} size={14} />
      <p>
        <strong>Reply to {name}</strong> <span>{message?.body ?? ''}</span>
      </p>
      <IconButton icon={X} label="Cancel the reply" onClick={onCancel} />
    </div>
  );
}
