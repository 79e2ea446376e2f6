import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { type ActorFields, presentActor } from '@parley/protocol/resources/actor.ts';
import { type AuditAction, AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { Selectable } from 'kysely';
import type { Principal } from '../../api/access/principal.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { ACTOR_JSON } from '../resources/actor.ts';
import { presentAs } from '../resources/present-as.ts';
import type { UnsealedRow } from './chain-store.ts';

export interface Audited {
  readonly accountId: string;
  /** Null or absent if the action concerns the account as a whole. */
  readonly conversationId?: string | null;
  /** The acting actor; null or absent if there is none in particular. */
  readonly actorId?: string | null;
  readonly action: AuditAction;
  /** JSON with ids instead of texts of messages, names and addresses. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Records an action in the transaction of the action (docs/contract.md#audit). */
export function audit(tx: Tx, audited: Audited): Promise<void> {
  return auditAll(tx, [audited]);
}

/** Records several actions in one statement. */
export async function auditAll(tx: Tx, audited: readonly Audited[]): Promise<void> {
  if (audited.length === 0) return;
  const values = audited.map(({ accountId, details = {}, ...of }) => ({
    id: newId('auditEvent'),
    account_id: accountId,
    conversation_id: of.conversationId,
    actor_id: of.actorId,
    action: of.action,
    details: JSON.stringify(details),
  }));
  await tx.kysely.insertInto('audit_events').values(values).execute();
}

/** Records an action of the caller that concerns its account as a whole. */
export function auditAccount(
  tx: Tx,
  { accountId, actor }: Principal,
  action: AuditAction,
  details?: Audited['details'],
): Promise<void> {
  return audit(tx, { accountId, actorId: actor.id, action, details });
}

/** Records an action on a message in the audit of its conversation. */
export function auditMessage(
  tx: Tx,
  actorId: string,
  { id, account_id: accountId, conversation_id: conversationId }: MessageKey,
  action: AuditAction,
  details: Audited['details'] = {},
): Promise<void> {
  return audit(tx, { accountId, conversationId, actorId, action, details: { message_id: id, ...details } });
}

type MessageKey = Pick<Selectable<Schema['messages']>, 'id' | 'account_id' | 'conversation_id'>;

export interface AuditRow extends Omit<UnsealedRow, 'actor_id'> {
  readonly actor: ActorFields | null;
}

/** Returns a page, newest first. */
export function readConversationAudit(db: Db, conversationId: string, page: KeysetPage): Promise<AuditRow[]> {
  return OF_CONVERSATION.readPage(db, [conversationId], page);
}

/** Returns a page of the account's audit, including all its conversations, newest first. */
export function readAccountAudit(
  db: Db,
  accountId: string,
  filters: {
    readonly conversationId?: string | undefined;
    readonly actorIds?: readonly string[] | undefined;
    readonly action?: string | undefined;
  },
  page: KeysetPage,
): Promise<AuditRow[]> {
  const { conversationId = null, actorIds = null, action = null } = filters;
  return OF_ACCOUNT.readPage(db, [accountId, conversationId, actorIds, action], page);
}

/**
 * Throws ApiError `parameter_invalid` (param conversation_id) unless the account has, or had, the
 * conversation: its audit outlives it.
 */
export async function requireAudited(db: Db, accountId: string, conversationId: string): Promise<void> {
  const [known] = await db.query(READ_AUDITED, accountId, conversationId);
  if (known !== undefined) return;
  const message = 'Must be the id of a conversation of the account.';
  throw new ApiError('parameter_invalid', message, { param: 'conversation_id' });
}

const READ_AUDITED = statement<[accountId: string, conversationId: string]>('read-audited-conversation')`
    SELECT FROM conversations WHERE account_id = $1 AND id = $2
    UNION ALL SELECT FROM audit_events WHERE account_id = $1 AND conversation_id = $2
    LIMIT 1`;

/** Yields the ids of the account's events whose details contain one of the texts. */
export async function* eventsNaming(
  db: Db,
  accountId: string,
  texts: readonly string[],
): AsyncIterable<string[]> {
  for (let after: readonly [string, string] = ['epoch', '']; ; ) {
    const [page] = await db.query(READ_NAMING, accountId, ...after, texts, NAMING_PAGE);
    const { found, last } = page!;
    if (found !== null) yield found;
    if (last === null) return;
    after = [last.created_at, last.id];
  }
}

export function presentAuditEvent(row: AuditRow): AuditEvent {
  const { actor, details } = row;
  return presentAs(AuditEvent, { ...row, actor: actor && presentActor(actor), details: { ...details } });
}

/** Returns a cursor's content: the sort key of both lists. */
export function auditKeyOf({ created_at, id }: AuditRow): [string, string] {
  return [created_at, id];
}

const PAGES = {
  columns: `e.id, e.conversation_id, e.action, e.details, e.created_at,
      CASE WHEN a.id IS NOT NULL THEN ${ACTOR_JSON} END AS actor`,
  from: 'audit_events e LEFT JOIN actors a ON a.id = e.actor_id',
  key: [
    ['e.created_at', 'timestamptz'],
    ['e.id', 'text'],
  ],
} as const;

const OF_CONVERSATION = keysetList<[conversationId: string], AuditRow>({
  ...PAGES,
  name: 'read-audit',
  where: 'e.conversation_id = $1',
});

const OF_ACCOUNT = keysetList<
  [
    accountId: string,
    conversationId: string | null,
    actorIds: readonly string[] | null,
    action: string | null,
  ],
  AuditRow
>({
  ...PAGES,
  name: 'read-account-audit',
  where: `e.account_id = $1 AND ($2::text IS NULL OR e.conversation_id = $2)
      AND ($3::text[] IS NULL OR e.actor_id = ANY($3)) AND ($4::text IS NULL OR e.action = $4)`,
});

const NAMING_PAGE = 5_000;

const READ_NAMING = statement<
  [accountId: string, createdAt: string, id: string, texts: readonly string[], limit: number],
  { found: string[] | null; last: { readonly created_at: string; readonly id: string } | null }
>('read-audit-naming')`
    WITH page AS MATERIALIZED (
      SELECT e.id, e.created_at, e.details FROM audit_events e
      WHERE e.account_id = $1 AND (e.created_at, e.id) > ($2::timestamptz, $3)
      ORDER BY e.created_at, e.id LIMIT $5
    )
    SELECT
      (SELECT array_agg(id::text) FROM page WHERE EXISTS (
        SELECT FROM unnest($4::text[]) AS text WHERE position(text IN page.details::text) > 0)) AS found,
      (SELECT json_build_object('created_at', created_at, 'id', id) FROM page
        ORDER BY created_at DESC, id DESC LIMIT 1) AS last`;
