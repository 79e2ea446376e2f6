import { type Static, Type } from 'typebox';
import { describe, Nullable, Timestamp } from '../schema.ts';
import { Actor } from './actor.ts';

/** What is written into a conversation's audit. Readers take the set as open-ended. */
export const AUDIT_ACTIONS = [
  'conversation.created',
  'conversation.renamed',
  'conversation.archived',
  'conversation.unarchived',
  'conversation.assigned',
  'conversation.topic_changed',
  'conversation.moved',
  'conversation.legal_hold_set',
  'participant.added',
  'participant.changed',
  'participant.left',
  'participant.removed',
  'customer_token.issued',
  'message.edited',
  'draft.edited',
  'scheduled.edited',
  'message.deleted',
  'message.canceled',
  'message.redacted',
  'messages.purged',
  'draft.approved',
  'draft.rejected',
  'draft.sent_by_agent',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who did what to a conversation, and when (docs/contract.md#audit). `details` is the action's own. */
export const AuditEvent = Type.Object({
  id: Type.String(),
  object: Type.Literal('audit_event'),
  action: Type.String(),
  /** Null: nobody in particular, as for what a customer's message or the service caused. */
  actor: Nullable(Actor),
  details: Type.Record(Type.String(), Type.Unknown()),
  created_at: Timestamp,
});
export type AuditEvent = Static<typeof AuditEvent>;

describe(AuditEvent, {
  action: 'What was done, such as `message.edited`. The set is open-ended and may grow.',
  actor: 'The actor that did it. Null for what a customer or the service caused.',
  details: 'What else is known of the action; the fields depend on `action`.',
});
