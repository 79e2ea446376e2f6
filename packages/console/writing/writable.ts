import type { ConversationEnd } from '@parley/client';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import { texts } from '../texts/texts.ts';

/** The facts by which a person can write into a conversation. */
export interface Standing {
  readonly conversation:
    | (Pick<Conversation, 'status' | 'audience'> & Partial<Pick<Conversation, 'blocked' | 'deleted_at'>>)
    | null;
  readonly end: ConversationEnd | null;
  readonly own: Pick<Participant, 'role'> | undefined;
  readonly can: (permission: string) => boolean;
}

/** The reason why a person cannot write, as a sentence. */
export interface Refusal {
  readonly sentence: string;
  /** Whether it can be opened again. */
  readonly isArchived?: boolean;
}

/** Returns why the person cannot write into the conversation, or null. */
export function refusalOf({ conversation, end, own, can }: Standing): Refusal | null {
  const { refusals } = texts.writing;
  // The person was removed, or the conversation was deleted.
  if (end === 'revoked') return { sentence: refusals.revoked };
  if (end !== null) return { sentence: end.message };
  if (typeof conversation?.deleted_at === 'string') {
    return { sentence: refusals.deleted };
  }
  if (!can('messaging:create')) return { sentence: refusals.role };
  if (own?.role === 'viewer') return { sentence: refusals.viewer };
  if (conversation?.status === 'archived') {
    return { sentence: refusals.archived, isArchived: true };
  }
  if (conversation?.blocked) {
    return {
      sentence: conversation.audience === 'customer' ? refusals.blockedByTeam : refusals.blocked,
    };
  }
  return null;
}
