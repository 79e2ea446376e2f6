import { useConversation } from '@parley/client/react';
import { nameOf } from '../names/conversation-name.ts';
import { Link } from '../nav/link.tsx';
import type { Pane } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';

export interface ConversationLinkProps {
  readonly id: string;
  readonly pane?: Pane;
}

/** A link to a conversation, by its name. */
export function ConversationLink({ id, pane }: ConversationLinkProps) {
  const { me } = useSignedIn();
  const { conversation } = useConversation(id);
  const name = conversation === null ? texts.work.conversation : nameOf(conversation, me.actor.id).name;
  return <Link to={{ main: { at: 'conversation', id }, ...(pane !== undefined && { pane }) }}>{name}</Link>;
}
