import { Scale } from 'lucide';
import { useConversation } from '../../../../contract/client/react/index.ts';
import type { Conversation } from '../../../../contract/protocol/resources/conversation.ts';
import { Icon } from '../../../../platform/ui/icon.tsx';
import { fullTimeOf, shortTimeOf } from '../../../../platform/ui/time.ts';
import { useHoldTrail } from './hold-trail.ts';

/** Says in the head of a conversation that it is under legal hold; nothing if it is not. */
export function HoldBanner({ conversationId }: { readonly conversationId: string }) {
  const { conversation } = useConversation(conversationId);
  return conversation?.legal_hold === 'held' ? <Held conversation={conversation} /> : null;
}

function Held({ conversation }: { readonly conversation: Conversation }) {
  const last = useHoldTrail(conversation)?.find(({ isHeld }) => isHeld);
  return (
    <p class="hold-banner" role="note">
      <Icon of={Scale} size={16} />
      <span>
        <strong>Legal hold.</strong> Nothing here can be deleted.
        {last && (
          <span title={fullTimeOf(last.at)}>
            {` Set by ${last.by ?? 'the service'}, ${shortTimeOf(last.at)}${last.reason ? `: ${last.reason}` : '.'}`}
          </span>
        )}
      </span>
    </p>
  );
}
