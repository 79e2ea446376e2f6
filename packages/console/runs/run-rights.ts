import { useConversation } from '@parley/client/react';
import { useSignedIn } from '../session/session-context.tsx';

/** Returns whether the person may see the runs of a conversation, and stop or decide them. */
export function useRunRights(conversationId: string): { readonly maySee: boolean; readonly mayAct: boolean } {
  const { me, can } = useSignedIn();
  const { conversation } = useConversation(conversationId);
  const own = conversation?.participants?.find(({ actor_id }) => actor_id === me.actor.id);
  const maySee = can('agents:run');
  return { maySee, mayAct: maySee && conversation !== null && own?.role !== 'viewer' };
}
