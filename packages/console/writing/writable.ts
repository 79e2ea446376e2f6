import type { ConversationEnd } from '@parley/client';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';

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
  // The person was removed, or the conversation was deleted.
  if (end === 'revoked') return { sentence: 'You can no longer read this conversation.' };
  if (end !== null) return { sentence: end.message };
  if (typeof conversation?.deleted_at === 'string') {
    return { sentence: 'This conversation was deleted.' };
  }
  if (!can('messaging:create')) return { sentence: 'Your role reads messages and does not send any.' };
  if (own?.role === 'viewer')
    return { sentence: 'You are a viewer of this conversation: you can only read.' };
  if (conversation?.status === 'archived') {
    return { sentence: 'This conversation is archived, and takes no new messages.', isArchived: true };
  }
  if (conversation?.blocked) {
    return {
      sentence:
        conversation.audience === 'customer'
          ? 'The team has blocked you here: you can only read.'
          : 'One of you has blocked the other, so neither can write.',
    };
  }
  return null;
}
