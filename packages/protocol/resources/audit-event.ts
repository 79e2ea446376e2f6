import { type Static, Type } from 'typebox';
import { describe, Identity, Nullable, Timestamp } from '../schema/schema.ts';
import { type MembersSince, Since } from '../schema/since.ts';
import { Actor } from './actor.ts';

/** The actions that are audited. Readers must treat the set as open-ended. */
export const AUDIT_ACTIONS = [
  'conversation.created',
  'conversation.renamed',
  'conversation.archived',
  'conversation.unarchived',
  'conversation.assigned',
  'conversation.topic_changed',
  'conversation.metadata_changed',
  'conversation.external_id_changed',
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
  'customer.updated',
  'message.edited',
  'draft.edited',
  'scheduled.edited',
  'scheduled.sent_now',
  'message.deleted',
  'message.canceled',
  'message.redacted',
  'messages.imported',
  'messages.purged',
  'retention.changed',
  'retention.swept',
  'email.resent',
  'draft.approved',
  'draft.rejected',
  'draft.sent_by_agent',
  'export.requested',
  'export.completed',
  'import.created',
  'import.started',
  'import.canceled',
  'import.completed',
  'import.failed',
  'user.claimed',
  'user.invited',
  'user.invitation_used',
  'user.updated',
  'user.deactivated',
  'user.activated',
  'user.erased',
  'operator.added',
  'operator.removed',
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
  'identity_provider.created',
  'identity_provider.updated',
  'identity_provider.deleted',
  'widget.created',
  'widget.updated',
  'widget.deleted',
  'visitor.claimed',
  'account.registered',
  'account.handed_over',
  'account.updated',
] as const;

/** The actions that callers of an older version cannot name in a filter. */
export const AUDIT_ACTIONS_SINCE: MembersSince<(typeof AUDIT_ACTIONS)[number]> = {
  'conversation.metadata_changed': '1.3.harbor',
  'identity_provider.created': '1.3.harbor',
  'identity_provider.updated': '1.3.harbor',
  'identity_provider.deleted': '1.3.harbor',
  'conversation.external_id_changed': '1.3.harbor',
  'customer.updated': '1.3.harbor',
  'messages.imported': '1.3.harbor',
  'import.created': '1.3.harbor',
  'import.started': '1.3.harbor',
  'import.canceled': '1.3.harbor',
  'import.completed': '1.3.harbor',
  'import.failed': '1.3.harbor',
  'user.claimed': '1.3.harbor',
  'user.invited': '1.3.harbor',
  'user.invitation_used': '1.3.harbor',
  'operator.added': '1.3.harbor',
  'operator.removed': '1.3.harbor',
  'widget.created': '1.3.harbor',
  'widget.updated': '1.3.harbor',
  'widget.deleted': '1.3.harbor',
  'visitor.claimed': '1.3.harbor',
  'account.handed_over': '1.4.harbor-preview.1',
  'account.updated': '1.4.harbor-preview.1',
};
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** An action and its actor (docs/contract.md#audit). `details` depends on the action. */
export const AuditEvent = Type.Object({
  ...Identity('audit_event'),
  conversation_id: Since('1.2.harbor', Nullable(Type.String())),
  action: Type.String(),
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

/** The signed end of the audit (docs/contract.md#audit). Kept elsewhere, it shows later changes. */
export const AuditHead = Type.Object({
  object: Type.Literal('audit_head'),
  account_id: Type.String(),
  /** 0 if nothing is sealed yet. */
  number: Type.Integer(),
  hash: Type.String(),
  signed_at: Timestamp,
  key_id: Type.String(),
  public_key: Type.String(),
  signature: Type.String(),
});
export type AuditHead = Static<typeof AuditHead>;

describe(AuditHead, {
  account_id: 'The account whose audit it is.',
  number: 'How many events are in the chain, purged ones included.',
  hash: 'SHA-256 of the last link as hex, which follows from every event before it.',
  signed_at: 'When the last event was appended and the head signed.',
  key_id: 'Identifies the key that signed: the first 16 hex digits of the SHA-256 of the public key.',
  public_key: 'The public ed25519 key, as base64url of its 32 bytes.',
  signature:
    'The ed25519 signature, as base64url, of the canonical JSON (RFC 8785) of all other fields of this object.',
});
