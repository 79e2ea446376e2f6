import { PinOff } from 'lucide';
import { useConversation } from '../../../../contract/client/react/index.ts';
import type { Conversation } from '../../../../contract/protocol/resources/conversation.ts';
import { useAction } from '../../../../platform/ui/action.ts';
import { IconButton } from '../../../../platform/ui/button.tsx';
import { Problem } from '../../../../platform/ui/problem.tsx';
import { shortTimeOf } from '../../../../platform/ui/time.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { Link } from '../shell/link.tsx';
import { ActorName } from './actor-name.tsx';
import { excerptOf } from './excerpt.ts';
import type { Rights } from './rights.ts';
import { Section } from './section.tsx';

export interface PinsProps {
  readonly conversation: Conversation;
  readonly rights: Rights;
}

/** The pinned messages of a conversation. */
export function Pins({ conversation: { id }, rights: { own } }: PinsProps) {
  const { pins, live } = useConversation(id);
  const { can } = useSignedIn();
  const { problem, run } = useAction();
  const mayUnpin = can('messaging:create') && own?.role !== 'viewer';
  return (
    <Section title={pins.length === 0 ? 'Pinned' : `Pinned (${pins.length})`}>
      {pins.length === 0 && <p class="section-empty">No message is pinned.</p>}
      <ul class="pins">
        {pins.map(({ message_id, message, pinned_by, pinned_at }) => (
          <li key={message_id}>
            <Link
              class="pins-message"
              to={{ main: { at: 'conversation', id, message: message_id }, pane: { shows: 'details' } }}
            >
              <strong>{message.sender?.name ?? 'Service'}</strong> {excerptOf(message)}
              <small class="pins-by">
                Pinned by <ActorName id={pinned_by} />
                {pinned_at && `, ${shortTimeOf(pinned_at)}`}
              </small>
            </Link>
            {mayUnpin && (
              <IconButton icon={PinOff} label="Unpin" onClick={() => run(() => live!.unpin(message_id))} />
            )}
          </li>
        ))}
      </ul>
      <Problem text={problem} />
    </Section>
  );
}
