import { useConversation } from '@parley/client/react';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { shortTimeOf } from '@parley/ui/text/time.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { excerptOf } from './excerpt.ts';
import { Section } from './section.tsx';

/** The read position of each member. */
export function Readers({ conversation: { id, participants } }: { readonly conversation: Conversation }) {
  const { reads, messages } = useConversation(id);
  const { me } = useSignedIn();
  const others = (participants ?? []).flatMap(({ actor, actor_id, last_read_sequence }) => {
    if (!actor_id || actor_id === me.actor.id || typeof last_read_sequence !== 'number') return [];
    const sequence = reads.get(actor_id)?.sequence ?? last_read_sequence;
    return { id: actor_id, actor, sequence };
  });
  const sent = messages.filter(({ sequence }) => sequence !== null);
  const last = sent.at(-1)?.sequence ?? 0;
  const standOf = (sequence: number) => {
    if (sequence >= last && last > 0) return texts.details.readAll;
    if (sequence === 0) return texts.details.readNothing;
    const message = sent.findLast((one) => one.sequence! <= sequence);
    if (message === undefined) return texts.details.readUpTo(sequence);
    return texts.details.readUpToMessage(excerptOf(message), shortTimeOf(message.created_at));
  };
  if (others.length === 0) return null;
  return (
    <Section title={texts.details.readBy}>
      <ul class="readers">
        {others.map(({ id: actorId, actor, sequence }) => (
          <li key={actorId}>
            <Avatar name={actor?.name ?? ''} url={actor?.avatar_url} size={24} />
            <span class="readers-name">
              {actor?.name}
              <small>{standOf(sequence)}</small>
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
