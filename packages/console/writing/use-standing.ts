import { useConversation } from '@parley/client/react';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { useSignedIn } from '../session/session-context.tsx';
import type { Standing } from './writable.ts';

/** A person's rights in a conversation. */
export interface OwnStanding extends Standing {
  readonly conversation: Conversation | null;
  /** Whether the person belongs to the team, and is not the customer of the case. */
  readonly isTeam: boolean;
  /** Whether messages of others may be taken back, members added, and so on. */
  readonly runsConversation: boolean;
}

/** Follows the person's rights in a conversation. */
export function useStanding(conversationId: string): OwnStanding {
  const { me, can } = useSignedIn();
  const { conversation, end } = useConversation(conversationId);
  const own = conversation?.participants?.find(
    ({ actor, actor_id }) => (actor_id ?? actor?.id) === me.actor.id,
  );
  const isManager = own?.role === 'owner' || own?.role === 'admin' || me.role?.type === 'admin';
  return {
    conversation,
    end,
    own,
    can,
    isTeam: own?.type !== 'customer',
    runsConversation: can('messaging:update') && isManager,
  };
}
