import { type Static, Type } from 'typebox';
import { describe, Nullable, Timestamp } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';
import { Actor } from './actor.ts';

/** The actions that are audited. Readers must treat the set as open-ended. */
export const AUDIT_ACTIONS = [
  'conversation.created',
  'conversation.renamed',
  'conversation.archived',
  'conversation.unarchived',
  'conversation.assigned',
  'conversation.topic_changed',
  'conversation.moved',
  'conversation.legal_hold_set',
  'conversation.deleted',
  'conversation.restored',
  'conversation.purged',
  'conversations.direct_listed',
  'participant.added',
  'participant.changed',
  'participant.left',
  'participant.removed',
  'customer_token.issued',
  'customer.blocked',
  'customer.unblocked',
  'message.edited',
  'draft.edited',
  'scheduled.edited',
  'scheduled.sent_now',
  'message.deleted',
  'message.canceled',
  'message.redacted',
  'messages.purged',
  'retention.changed',
  'retention.swept',
  'email.resent',
  'draft.approved',
  'draft.rejected',
  'draft.sent_by_agent',
  'export.requested',
  'export.completed',
  'user.updated',
  'user.deactivated',
  'user.activated',
  'user.erased',
  'sessions.ended',
  'role.updated',
  'role.deleted',
  'group.updated',
  'group.deleted',
  'webhook.created',
  'webhook.updated',
  'webhook.direct_included',
  'webhook.secret_rotated',
  'webhook.enabled',
  'webhook.disabled',
  'webhook.deleted',
  'inbox.created',
  'inbox.updated',
  'inbox.deleted',
  'account.registered',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/**
 * A change of a conversation or of the account with its actor and time (docs/contract.md#audit).
 * `details` depends on the action.
 */
export const AuditEvent = Type.Object({
  id: Type.String(),
  object: Type.Literal('audit_event'),
  /** Null for what concerns the account as a whole. */
  conversation_id: Since('1.2.harbor', Nullable(Type.String())),
  action: Type.String(),
  /** Null if no actor did it: a customer's message or the service caused it. */
  actor: Nullable(Actor),
  details: Type.Record(Type.String(), Type.Unknown()),
  created_at: Timestamp,
});
export type AuditEvent = Static<typeof AuditEvent>;

describe(AuditEvent, {
  conversation_id: 'The conversation that the action concerns. Null if it concerns the account as a whole.',
  action: 'What was done, such as `message.edited`. The set is open-ended and may grow.',
  actor: 'The actor that did it. Null for what a customer or the service caused.',
  details: 'What else is known of the action; the fields depend on `action`.',
});
