import type { Db, Tx } from '../db/handle.ts';
import { type KeysetPage, keysetList } from '../db/keyset.ts';
import { newId } from '../protocol/ids.ts';
import { type ActorFields, presentActor } from '../protocol/resources/actor.ts';
import type { AuditAction, AuditEvent } from '../protocol/resources/audit-event.ts';

export interface Audited {
  readonly accountId: string;
  readonly conversationId: string;
  /** The acting actor; null if there is none in particular. */
  readonly actorId: string | null;
  readonly action: AuditAction;
  /** JSON; never the bodies of messages. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Records an action in the transaction of the action (docs/contract.md#audit). */
export async function audit(tx: Tx, { accountId, details = {}, ...of }: Audited): Promise<void> {
  await tx.kysely
    .insertInto('audit_events')
    .values({
      id: newId('auditEvent'),
      account_id: accountId,
      conversation_id: of.conversationId,
      actor_id: of.actorId,
      action: of.action,
      details: JSON.stringify(details),
    })
    .execute();
}

/** A row of the audit with its actor. */
export interface AuditRow {
  readonly id: string;
  readonly action: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly actor: ActorFields | null;
}

/** Returns the audit of a conversation, newest first. */
export function readAudit(db: Db, conversationId: string, page: KeysetPage): Promise<AuditRow[]> {
  return AUDIT.readPage(db, [conversationId], page);
}

export function presentAuditEvent({ id, action, actor, details, created_at }: AuditRow): AuditEvent {
  return {
    id,
    object: 'audit_event',
    action,
    actor: actor && presentActor(actor),
    details: { ...details },
    created_at,
  };
}

const AUDIT = keysetList<[conversationId: string], AuditRow>({
  name: 'read-audit',
  columns: `e.id, e.action, e.details, e.created_at,
      CASE WHEN a.id IS NOT NULL THEN jsonb_build_object(
        'id', a.id, 'type', a.type, 'name', a.name, 'handle', a.handle, 'avatar_url', a.avatar_url
      ) END AS actor`,
  from: 'audit_events e LEFT JOIN actors a ON a.id = e.actor_id',
  where: 'e.conversation_id = $1',
  key: [
    ['e.created_at', 'timestamptz'],
    ['e.id', 'text'],
  ],
});
