import { useConversation } from '@parley/client/react';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { IconButton } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { shortTimeOf } from '@parley/ui/text/time.ts';
import { PinOff } from 'lucide';
import { ActorName } from '../names/actor-name.tsx';
import { Link } from '../nav/link.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
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
    <Section title={pins.length === 0 ? texts.details.pinned : texts.details.pinnedCount(pins.length)}>
      {pins.length === 0 && <p class="section-empty">{texts.details.noPin}</p>}
      <ul class="pins">
        {pins.map(({ message_id, message, pinned_by, pinned_at }) => (
          <li key={message_id}>
            <Link
              class="pins-message"
              to={{ main: { at: 'conversation', id, message: message_id }, pane: { shows: 'details' } }}
            >
              <strong>{message.sender?.name ?? texts.details.service}</strong> {excerptOf(message)}
              <small class="pins-by">
                {texts.details.pinnedBy(<ActorName id={pinned_by} />)}
                {pinned_at && `, ${shortTimeOf(pinned_at)}`}
              </small>
            </Link>
            {mayUnpin && (
              <IconButton
                icon={PinOff}
                label={texts.details.unpin}
                onClick={() => run(() => live!.unpin(message_id))}
              />
            )}
          </li>
        ))}
      </ul>
      <Problem text={problem} />
    </Section>
  );
}
