import { useConversation } from '@parley/client/react';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { fullTimeOf, shortTimeOf } from '@parley/ui/text/time.ts';
import { Scale } from 'lucide';
import { texts } from '../texts/texts.ts';
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
        <strong>{texts.holds.legalHold}</strong> {texts.holds.nothingDeleted}
        {last && (
          <span title={fullTimeOf(last.at)}>
            {texts.holds.setBy(last.by ?? texts.holds.service, shortTimeOf(last.at), last.reason)}
          </span>
        )}
      </span>
    </p>
  );
}
