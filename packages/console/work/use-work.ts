import type { Conversation, InboxQuery } from '@parley/client';
import { useInbox, useNotifications } from '@parley/client/react';
import { useMemo } from 'preact/hooks';
import { useWaitingRuns } from '../runs/waiting.ts';

const PROPOSED = { category: 'draft.proposed', pageSize: 50 } as const;

/** The lanes of cases in which the customer waits for an answer. */
const TO_ANSWER: InboxQuery = { filter: 'mine', workflow_status: ['new', 'open'], pageSize: 50 };

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

/** Follows the cases of this person whose customers wait for an answer. */
export function useCasesToAnswer(): { readonly cases: readonly Conversation[]; readonly hasMore: boolean } {
  const { conversations: cases, hasMore } = useInbox(TO_ANSWER);
  return { cases, hasMore };
}

/** Counts the work that waits for the person. */
export function useWorkCount(): number {
  return useWaitingRuns().length + useProposedDrafts().length + useCasesToAnswer().cases.length;
}
