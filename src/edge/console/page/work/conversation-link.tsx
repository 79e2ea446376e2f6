import { useConversation } from '../../../../contract/client/react/index.ts';
import { nameOf } from '../inbox/conversation-name.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { Link } from '../shell/link.tsx';
import type { Pane } from '../shell/place.ts';

export interface ConversationLinkProps {
  readonly id: string;
  readonly pane?: Pane;
}

/** A link to a conversation, by its name. */
export function ConversationLink({ id, pane }: ConversationLinkProps) {
  const { me } = useSignedIn();
  const { conversation } = useConversation(id);
  const name = conversation === null ? 'Conversation' : nameOf(conversation, me.actor.id).name;
  return <Link to={{ main: { at: 'conversation', id }, ...(pane !== undefined && { pane }) }}>{name}</Link>;
}
