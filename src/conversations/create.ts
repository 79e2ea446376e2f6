import type { Selectable, Transaction } from 'kysely';
import type { Schema } from '../db/schema.ts';
import type { Audience, ConversationType } from '../protocol/conversation.ts';
import { newId } from '../protocol/ids.ts';
import type { Participant } from '../protocol/participant.ts';

export type ConversationRow = Selectable<Schema['conversations']>;
export type ParticipantRow = Selectable<Schema['participants']>;

export interface NewConversation {
  readonly accountId: string;
  readonly type: ConversationType;
  /** Default internal. A customer one is a case: it begins in the lane `new`. */
  readonly audience?: Audience;
  readonly title?: string | null;
  readonly groupId?: string | null;
  readonly topic?: { readonly type: 'account' | 'actor' | 'entity'; readonly id: string } | null;
  readonly participants: readonly NewParticipant[];
}

export interface NewParticipant {
  readonly type: Participant['type'];
  /** Null for the system participant alone. */
  readonly actorId: string | null;
  /** Default member. */
  readonly role?: Participant['role'];
  /** For agents; theirs is `mention` unless given. */
  readonly triggerPolicy?: NonNullable<Participant['agent_trigger_policy']>;
  readonly triggerKeywords?: readonly string[];
}

/** The rows of a conversation and its participants, in the order given. What may be in them is the caller's to check. */
export async function createConversation(
  tx: Transaction<Schema>,
  input: NewConversation,
): Promise<{ conversation: ConversationRow; participants: ParticipantRow[] }> {
  const conversation = await tx
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
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const participants = [];
  for (const participant of input.participants) {
    participants.push(await addParticipant(tx, conversation, participant));
  }
  return { conversation, participants };
}

export function addParticipant(
  tx: Transaction<Schema>,
  conversation: Pick<ConversationRow, 'id' | 'account_id'>,
  { type, actorId, role, triggerPolicy, triggerKeywords }: NewParticipant,
): Promise<ParticipantRow> {
  return tx
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
