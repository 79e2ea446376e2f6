import type { Conversation, InboxQuery } from '@parley/client';
import { useInbox, useNotifications } from '@parley/client/react';
import { useMemo } from 'preact/hooks';

const PROPOSED = { category: 'draft.proposed', pageSize: 50 } as const;

/** The open cases whose customers wait for an answer, the longest waiting first. */
const WAITING = { order: 'waiting', status: 'active', pageSize: 25 } as const;
const MINE: InboxQuery = { ...WAITING, filter: 'mine' };
const UNASSIGNED: InboxQuery = { ...WAITING, filter: 'unassigned' };

/** A reply that waits for approval. */
export interface ProposedDraft {
  readonly id: string;
  readonly conversationId: string;
}

/** Follows the drafts that this person may approve, the longest waiting first. */
export function useProposedDrafts(): readonly ProposedDraft[] {
  const { notifications } = useNotifications(PROPOSED);
  return useMemo(
    () =>
      notifications
        .flatMap(({ message_id: id, resource_id: conversationId }) =>
          id && conversationId ? { id, conversationId } : [],
        )
        .reverse(),
    [notifications],
  );
}

/** A part of the cases that wait. */
export interface WaitingCases {
  readonly cases: readonly Conversation[];
  /** Loads the next page; null where there is none. */
  readonly more: (() => Promise<unknown>) | null;
}

/** Follows the cases of this person, or those without an owner, whose customers wait. */
export function useWaitingCases(of: 'mine' | 'unassigned'): WaitingCases {
  const { conversations: cases, hasMore, live } = useInbox(of === 'mine' ? MINE : UNASSIGNED);
  return { cases, more: hasMore && live !== undefined ? () => live.loadMore() : null };
}

/** Follows the numbers of what waits for the person, as the server counts them. */
export function useWorkCounts() {
  const { summary } = useInbox({ pageSize: 1, include: [] });
  return summary?.work;
}
