import { type Selectable, sql, type Updateable, type UpdateObject } from 'kysely';
import { ApiError, notFound } from '../../contract/protocol/errors.ts';
import { newId } from '../../contract/protocol/ids.ts';
import type { DisabledReason } from '../../contract/protocol/resources/webhook.ts';
import { keptName, keptVersion, type Version } from '../../contract/protocol/versions.ts';
import { defineAccountList } from '../../core/accounts/account-list.ts';
import { changeListeners } from '../../core/accounts/listeners.ts';
import { enqueueRightsChanged } from '../../core/accounts/rights-changed.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import type { Receiver } from './delivery.ts';
import { PREVIOUS_SECRET_HOURS } from './secrets.ts';

export type WebhookRow = Selectable<Schema['webhooks']>;

export interface NewWebhookRow {
  readonly accountId: string;
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly includeDirect: boolean;
  readonly version: Version;
  readonly secret: Buffer;
  /** Actor id. */
  readonly createdBy: string;
}

/** Maximum webhooks of an account. */
export const MAX_WEBHOOKS = 20;

/** Throws `limit_exceeded` with the quota. */
export async function insertWebhook(tx: Tx, webhook: NewWebhookRow): Promise<WebhookRow> {
  await requireRoom(tx, webhook.accountId);
  const row = await tx.kysely
    .insertInto('webhooks')
    .values({
      id: newId('webhook'),
      account_id: webhook.accountId,
      url: webhook.url,
      event_types: [...webhook.eventTypes],
      include_direct: webhook.includeDirect,
      version: keptName(webhook.version),
      secret: webhook.secret,
      created_by: webhook.createdBy,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await changed(tx, row.id);
  return row;
}

/** Throws `resource_not_found` (param id). */
export async function findWebhook(db: Db, accountId: string, id: string): Promise<WebhookRow> {
  const row = await db.kysely
    .selectFrom('webhooks')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst();
  if (row === undefined) throw notFound('webhook', 'id');
  return row;
}

/** Throws `resource_not_found` (param id). */
export async function lockWebhook(tx: Tx, accountId: string, id: string): Promise<WebhookRow> {
  const row = await tx.kysely
    .selectFrom('webhooks')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw notFound('webhook', 'id');
  return row;
}

/** For changes without a caller's request. Returns undefined if the webhook is gone. */
export function lockWebhookById(tx: Tx, id: string): Promise<WebhookRow | undefined> {
  return tx.kysely.selectFrom('webhooks').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export type WebhookChanges = Pick<Updateable<Schema['webhooks']>, 'url' | 'event_types' | 'include_direct'>;

export function updateWebhook(tx: Tx, webhook: WebhookRow, changes: WebhookChanges): Promise<WebhookRow> {
  return update(tx, webhook, changes);
}

/** Replaces the secret of a locked webhook. The previous one still signs for some time. */
export function rotateSecret(tx: Tx, webhook: WebhookRow, secret: Buffer): Promise<WebhookRow> {
  return update(tx, webhook, {
    secret,
    previous_secret: webhook.secret,
    previous_secret_until: sql<string>`clock_timestamp() + make_interval(hours => ${PREVIOUS_SECRET_HOURS})`,
  });
}

/** Disables a locked webhook for a reason; null enables it and forgets its failures. */
export function setDisabled(tx: Tx, webhook: WebhookRow, reason: DisabledReason | null): Promise<WebhookRow> {
  return update(tx, webhook, {
    status: reason === null ? 'enabled' : 'disabled',
    disabled_reason: reason,
    disabled_at: reason === null ? null : sql<string>`clock_timestamp()`,
    ...(reason === null && { failing_since: null }),
    ...(reason === 'backlog' && { lost_since: sql<string>`coalesce(lost_since, clock_timestamp())` }),
  });
}

/** Removes a locked webhook. Its deliveries are removed in steps afterwards (removal.ts). */
export async function deleteWebhook(tx: Tx, { id }: Pick<WebhookRow, 'id'>): Promise<void> {
  await tx.kysely.deleteFrom('webhooks').where('id', '=', id).execute();
  await changed(tx, id);
}

/** The webhooks of an account, newest first. */
export const WEBHOOKS = defineAccountList<WebhookRow>({
  name: 'webhooks',
  columns: 't.*',
  from: 'webhooks t',
  search: ['t.url'],
});

/**
 * The fields of a webhook for a try. A try is allowed if the webhook is enabled and its account not
 * deleted.
 */
export interface ReceiverRow extends Receiver {
  readonly is_open: boolean;
}

/** Returns undefined for a deleted webhook. */
export async function readReceiver(db: Db, id: string): Promise<ReceiverRow | undefined> {
  const [row] = await db.query(READ_RECEIVER, id);
  return row && { ...row, version: keptVersion(row.version) };
}

const READ_RECEIVER = statement<[id: string], Omit<ReceiverRow, 'version'> & { readonly version: string }>({
  name: 'read-webhook-receiver',
  text: `
    SELECT w.id, w.account_id, w.url, w.version, w.secret, w.previous_secret, w.previous_secret_until,
      w.status = 'enabled' AND a.deleted_at IS NULL AS is_open
    FROM webhooks w JOIN accounts a ON a.id = w.account_id WHERE w.id = $1`,
});

async function update(
  tx: Tx,
  { id }: WebhookRow,
  changes: UpdateObject<Schema, 'webhooks'>,
): Promise<WebhookRow> {
  const row = await tx.kysely
    .updateTable('webhooks')
    .set({ ...changes, updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await changed(tx, id);
  return row;
}

/** Must end every change that decides which events are sent where. */
async function changed(tx: Tx, id: string): Promise<void> {
  await changeListeners(tx);
  await enqueueRightsChanged(tx, [id]);
}

/** Locks the account's row, so that two concurrent requests cannot both take the last place. */
async function requireRoom(tx: Tx, accountId: string): Promise<void> {
  await tx.kysely
    .selectFrom('accounts')
    .select('id')
    .where('id', '=', accountId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  const { used } = await tx.kysely
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('used'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  if (used < MAX_WEBHOOKS) return;
  throw new ApiError(
    'limit_exceeded',
    `An account can have ${MAX_WEBHOOKS} webhooks. Delete one that is not needed.`,
    { quota: { limit: MAX_WEBHOOKS, used, reset_at: null } },
  );
}
