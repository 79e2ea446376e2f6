import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { Confirm } from '@parley/ui/overlays/confirm.tsx';
import { fullTimeOf } from '@parley/ui/text/time.ts';
import { Scale } from 'lucide';
import { useState } from 'preact/hooks';
import { useHoldTrail } from '../holds/hold-trail.ts';
import { useSignedIn } from '../session/session-context.tsx';
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
    <Section title="Legal hold">
      <p class="hold-state">
        {isHeld
          ? 'Held: nothing is deleted, redacted or purged, and edits keep the earlier text.'
          : 'Not held.'}
      </p>
      {trail !== null && trail.length > 0 && (
        <ol class="hold-trail" aria-label="Trail of the legal hold">
          {trail.map((change) => (
            <li key={change.id}>
              <strong>{change.isHeld ? 'Held' : 'Released'}</strong> by {change.by ?? 'the service'}
              <small>{fullTimeOf(change.at)}</small>
              {change.reason !== null && <span class="hold-reason">{change.reason}</span>}
            </li>
          ))}
        </ol>
      )}
      {rights.mayWrite && (
        <Button icon={Scale} onClick={() => setAsking(true)}>
          {isHeld ? 'Release the hold' : 'Put on hold'}
        </Button>
      )}
      {isAsking && (
        <Confirm
          title={isHeld ? 'Release the legal hold?' : 'Put the conversation on legal hold?'}
          text={
            isHeld
              ? 'Messages can be deleted, redacted and purged again.'
              : 'Until it is released, nothing in the conversation can be deleted, redacted or purged.'
          }
          action={isHeld ? 'Release' : 'Hold'}
          reason="Reason, for the audit"
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
