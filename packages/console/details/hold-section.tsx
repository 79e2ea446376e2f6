import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { Confirm } from '@parley/ui/overlays/confirm.tsx';
import { fullTimeOf } from '@parley/ui/text/time.ts';
import { Scale } from 'lucide';
import { useState } from 'preact/hooks';
import { useHoldTrail } from '../holds/hold-trail.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import type { Rights } from './rights.ts';
import { Section } from './section.tsx';

export interface HoldSectionProps {
  readonly conversation: Conversation;
  readonly rights: Rights;
}

/** The legal hold of a conversation: whether it is set, its trail, and how to change it. */
export function HoldSection({ conversation, rights }: HoldSectionProps) {
  const { conversations } = useSignedIn().client;
  const trail = useHoldTrail(conversation);
  const [isAsking, setAsking] = useState(false);
  const { id, legal_hold } = conversation;
  const isHeld = legal_hold === 'held';
  return (
    <Section title={texts.details.legalHold}>
      <p class="hold-state">{isHeld ? texts.details.isHeld : texts.details.isNotHeld}</p>
      {trail !== null && trail.length > 0 && (
        <ol class="hold-trail" aria-label={texts.details.holdTrail}>
          {trail.map((change) => (
            <li key={change.id}>
              {texts.details.changedBy(
                <strong>{change.isHeld ? texts.details.held : texts.details.released}</strong>,
                change.by ?? texts.details.byService,
              )}
              <small>{fullTimeOf(change.at)}</small>
              {change.reason !== null && <span class="hold-reason">{change.reason}</span>}
            </li>
          ))}
        </ol>
      )}
      {rights.mayWrite && (
        <Button icon={Scale} onClick={() => setAsking(true)}>
          {isHeld ? texts.details.releaseHold : texts.details.putOnHold}
        </Button>
      )}
      {isAsking && (
        <Confirm
          title={isHeld ? texts.details.releaseQuestion : texts.details.holdQuestion}
          text={isHeld ? texts.details.releaseMeans : texts.details.holdMeans}
          action={isHeld ? texts.details.release : texts.details.hold}
          reason={texts.details.reason}
          isReasonRequired
          onConfirm={(reason) =>
            isHeld ? conversations.release(id, reason) : conversations.hold(id, reason)
          }
          onClose={() => setAsking(false)}
        />
      )}
    </Section>
  );
}
