import { useNotifications } from '@parley/client/react';
import { useMemo } from 'preact/hooks';

const WAITING = { category: 'approval.requested', pageSize: 50 } as const;

/**
 * Follows the runs that wait for the approval of this person, in one conversation or everywhere.
 * The server notifies people who may approve, and withdraws it as soon as anybody has decided.
 */
export function useWaitingRuns(conversationId?: string): readonly string[] {
  const { notifications } = useNotifications(WAITING);
  return useMemo(() => {
    const here = notifications.filter(
      ({ status, resource_id }) =>
        status !== 'dismissed' && (conversationId === undefined || resource_id === conversationId),
    );
    return [...new Set(here.flatMap(({ agent_run_id }) => agent_run_id ?? []))].reverse();
  }, [notifications, conversationId]);
}
