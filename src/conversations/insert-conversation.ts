import type { Tx } from '../db/handle.ts';
import { newId } from '../protocol/ids.ts';
import type { ConversationAudience, ConversationType } from '../protocol/resources/conversation.ts';
import type { Participant } from '../protocol/resources/participant.ts';
import type { ConversationRow } from '../resources/conversation.ts';
import type { ParticipantRow } from '../resources/participant.ts';

export interface NewConversation {
  readonly accountId: string;
  readonly type: ConversationType;
  /** Default internal. A customer conversation is a case: its workflow begins with `new`. */
  readonly audience?: ConversationAudience;
  readonly title?: string | null;
  readonly groupId?: string | null;
  readonly topic?: { readonly type: 'account' | 'actor' | 'entity'; readonly id: string } | null;
  /** The key of a direct message: see directKeyOf. */
  readonly directKey?: string;
  readonly participants: readonly NewParticipant[];
}

export interface NewParticipant {
  readonly type: Participant['type'];
  /** Null only for the system participant. */
  readonly actorId: string | null;
  /** Default member. */
  readonly role?: Participant['role'];
  /** For agents only; default `mention`. */
  readonly triggerPolicy?: NonNullable<Participant['agent_trigger_policy']>;
  readonly triggerKeywords?: readonly string[];
}

/** Two users have one direct message, because a key is unique within the account. */
export function directKeyOf(actorIds: readonly [string, string]): string {
  return actorIds.toSorted().join(' ');
}

export interface CreatedConversation {
  readonly conversation: ConversationRow;
  readonly participants: readonly ParticipantRow[];
}

/**
 * Inserts a conversation and its participants, in the given order. The caller has validated them. Rejects if a
 * conversation with the same direct key exists.
 */
export async function createConversation(tx: Tx, input: NewConversation): Promise<CreatedConversation> {
  const created = await createUnlessThere(tx, input);
  if (created === undefined) throw new Error('there is a direct message of the same two');
  return created;
}

/**
 * Like `createConversation`, but returns undefined if a conversation with the same direct key exists, after waiting
 * for its transaction.
 */
export async function createUnlessThere(
  tx: Tx,
  input: NewConversation,
): Promise<CreatedConversation | undefined> {
  const conversation = await tx.kysely
    .insertInto('conversations')
    .values({
      id: newId('conversation'),
      account_id: input.accountId,
      type: input.type,
      audience: input.audience ?? 'internal',
      title: input.title ?? null,
      workflow_status: input.audience === 'customer' ? 'new' : null,
      group_id: input.groupId ?? null,
      topic_type: input.topic?.type ?? null,
      topic_id: input.topic?.id ?? null,
      direct_key: input.directKey ?? null,
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'direct_key']).where('direct_key', 'is not', null).doNothing(),
    )
    .returningAll()
    .executeTakeFirst();
  if (conversation === undefined) return undefined;
  const participants = [];
  for (const participant of input.participants) {
    participants.push(await addParticipant(tx, conversation, participant));
  }
  return { conversation, participants };
}

export function addParticipant(
  tx: Tx,
  conversation: Pick<ConversationRow, 'id' | 'account_id'>,
  { type, actorId, role, triggerPolicy, triggerKeywords }: NewParticipant,
): Promise<ParticipantRow> {
  return tx.kysely
    .insertInto('participants')
    .values({
      id: newId('participant'),
      account_id: conversation.account_id,
      conversation_id: conversation.id,
      actor_id: actorId,
      type,
      role: role ?? 'member',
      agent_trigger_policy: type === 'agent' ? (triggerPolicy ?? 'mention') : null,
      agent_trigger_keywords: [...(triggerKeywords ?? [])],
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}
