import type { Database } from '../../platform/db/connection/database.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { type Statement, statement } from '../../platform/db/connection/statement.ts';

type OfAccount = Statement<[accountId: string, limit: number], object>;

/** Deletes rows of an account, `DELETED_AT_ONCE` a transaction, until there are none. */
export async function emptyTables(
  database: Database,
  deletions: readonly OfAccount[],
  accountId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const deletion of deletions) {
    for (let isMore = true; isMore && !signal.aborted; ) {
      const deleted = await database.query(deletion, accountId, DELETED_AT_ONCE);
      isMore = deleted.length === DELETED_AT_ONCE;
    }
  }
}

/** Marks the account's files for removal by core/attachments/uploads.ts, and blanks their names. */
export async function withdrawAllUploads(db: Querier, accountId: string): Promise<void> {
  await db.query(WITHDRAW_UPLOADS, accountId);
}

export async function hasUploads(db: Querier, accountId: string): Promise<boolean> {
  return (await db.query(READ_UPLOAD, accountId)).length > 0;
}

const DELETED_AT_ONCE = 2_000;

const WITHDRAW_UPLOADS = statement<[accountId: string]>('withdraw-uploads-of-account')`
    UPDATE uploads SET withdrawn_at = clock_timestamp(), attached_at = NULL, filename = ''
    WHERE account_id = $1 AND withdrawn_at IS NULL`;

const READ_UPLOAD = statement<[accountId: string]>('read-upload-of-account')`
    SELECT FROM uploads WHERE account_id = $1 LIMIT 1`;

/** `t` is the table; `rows` is the SQL after FROM, with its WHERE. */
function deletion(table: string, rows = `${table} t WHERE t.account_id = $1`): OfAccount {
  return statement<[accountId: string, limit: number], object>(
    `remove-account-${table.replaceAll('_', '-')}`,
  )`
    DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT t.ctid FROM ${rows} LIMIT $2)) RETURNING 1`;
}

function ofActors(table: string, key: string, condition = 'true'): OfAccount {
  return deletion(
    table,
    `actors a JOIN ${table} t ON t.${key} = a.id WHERE a.account_id = $1 AND ${condition}`,
  );
}

/** Rows that start agents. */
export const AGENTS: readonly OfAccount[] = [
  deletion(
    'agent_occurrences',
    'agent_definitions d JOIN agent_occurrences t ON t.agent_id = d.id WHERE d.account_id = $1',
  ),
  deletion('agent_definitions'),
];

/**
 * Rows that refer to files and actors, deleted after the conversations. Steps, calls and artifacts
 * are deleted with their run.
 */
export const RECORDS: readonly OfAccount[] = [
  ofActors('agent_runs', 'actor_id', "a.type = 'agent'"),
  ofActors('notifications', 'recipient_id'),
  deletion('notification_settings'),
  deletion('inbox_rows'),
  deletion('conversation_activity'),
  deletion('platform_events'),
  deletion('push_subscriptions'),
  ofActors('digests', 'actor_id'),
  deletion('compliance_jobs'),
  deletion('idempotency_keys'),
  deletion(
    'webhook_deliveries',
    'webhooks w JOIN webhook_deliveries t ON t.webhook_id = w.id WHERE w.account_id = $1',
  ),
  deletion('webhooks'),
  deletion('mails'),
  deletion('avatars'),
  deletion('search_blocks'),
];

/** The rest, ordered so that no row refers to a deleted one. The account's row is the last. */
export const ACCOUNT: readonly OfAccount[] = [
  deletion('audit_events'),
  deletion('audit_checkpoints'),
  deletion('audit_chains'),
  ofActors('refresh_tokens', 'actor_id'),
  deletion('tickets'),
  ofActors('presences', 'actor_id'),
  deletion('api_keys'),
  deletion('users'),
  deletion(
    'group_members',
    'messaging_groups g JOIN group_members t ON t.group_id = g.id WHERE g.account_id = $1',
  ),
  deletion('inboxes'),
  deletion('messaging_groups'),
  deletion('entities'),
  deletion('blocks'),
  deletion('actors'),
  deletion('roles'),
  deletion('retention_policies'),
  deletion('stored_bytes'),
  deletion('accounts', 'accounts t WHERE t.id = $1'),
];
