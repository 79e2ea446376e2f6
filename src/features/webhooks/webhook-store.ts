import { randomBytes } from 'node:crypto';
import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { DisabledReason } from '@parley/protocol/resources/webhook.ts';
import { type Insertable, type Selectable, sql, type UpdateObject } from 'kysely';
import { changeListeners } from '../../core/accounts/account/listeners.ts';
import { defineAccountList } from '../../core/accounts/collections/account-list.ts';
import { enqueueRightsChanged } from '../../core/accounts/rights/rights-changed.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';

export type WebhookRow = Selectable<Schema['webhooks']>;

/** Maximum webhooks of an account. */
const MAX_WEBHOOKS = 20;
const SECRET_BYTES = 32;
/** Hours for which the previous secret still signs after a rotation. */
const PREVIOUS_SECRET_HOURS = 24;

/**
 * SQL over `w`: whether its deliveries are tried. That of callbacks is disabled for nodes of the
 * version before, which would send to its own URL.
 */
export const IS_TRIED = `(w.status = 'enabled' OR w.is_callback)`;

type NewWebhook = Omit<Insertable<Schema['webhooks']>, 'id' | 'secret'>;

/** Throws `limit_exceeded` with the quota. */
export async function insertWebhook(tx: Tx, webhook: NewWebhook): Promise<WebhookRow> {
  await requireRoom(tx, webhook.account_id);
  return addWebhook(tx, webhook);
}

/** Inserts a webhook, whatever the number of others. */
export async function addWebhook(tx: Tx, webhook: NewWebhook): Promise<WebhookRow> {
  const row = await tx.kysely
    .insertInto('webhooks')
    .values({ id: newId('webhook'), secret: randomBytes(SECRET_BYTES), ...webhook })
    .returningAll()
    .executeTakeFirstOrThrow();
  await changed(tx, row.id);
  return row;
}

/** Throws `resource_not_found` (param id). */
export function findWebhook(db: Db, accountId: string, id: string): Promise<WebhookRow> {
  return webhookOf(db, id)
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow(() => notFound('webhook', 'id'));
}

/** Throws `resource_not_found` (param id). */
export function lockWebhook(tx: Tx, accountId: string, id: string): Promise<WebhookRow> {
  return webhookOf(tx, id)
    .where('account_id', '=', accountId)
    .forUpdate()
    .executeTakeFirstOrThrow(() => notFound('webhook', 'id'));
}

/** Locks a webhook for changes without a caller's request. Returns undefined if it is gone. */
export function lockWebhookById(tx: Tx, id: string): Promise<WebhookRow | undefined> {
  return webhookOf(tx, id).forUpdate().executeTakeFirst();
}

function webhookOf(db: Db, id: string) {
  return db.kysely.selectFrom('webhooks').selectAll().where('id', '=', id).where('is_callback', '=', false);
}

/** Throws as `lockWebhook` does, or `resource_conflict`. */
export async function lockEnabled(tx: Tx, accountId: string, id: string): Promise<WebhookRow> {
  const webhook = await lockWebhook(tx, accountId, id);
  if (webhook.status === 'enabled') return webhook;
  throw new ApiError('resource_conflict', 'The webhook is disabled. Enable it first.');
}

/** Replaces the secret of a locked webhook. The previous one still signs for some time. */
export function rotateSecret(tx: Tx, webhook: WebhookRow): Promise<WebhookRow> {
  return updateWebhook(tx, webhook, {
    secret: randomBytes(SECRET_BYTES),
    previous_secret: webhook.secret,
    previous_secret_until: sql<string>`clock_timestamp() + make_interval(hours => ${PREVIOUS_SECRET_HOURS})`,
  });
}

/** Disables a locked webhook for a reason; null enables it and forgets its failures. */
export function setDisabled(tx: Tx, webhook: WebhookRow, reason: DisabledReason | null): Promise<WebhookRow> {
  return updateWebhook(tx, webhook, {
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
  from: '(SELECT * FROM webhooks WHERE NOT is_callback) t',
  search: ['t.url'],
});

export async function updateWebhook(
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

/** Announces a change, as every change to the events or receivers of webhooks must. */
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
    .where('is_callback', '=', false)
    .executeTakeFirstOrThrow();
  if (used < MAX_WEBHOOKS) return;
  throw new ApiError(
    'limit_exceeded',
    `An account can have ${MAX_WEBHOOKS} webhooks. Delete one that is not needed.`,
    { quota: { limit: MAX_WEBHOOKS, used, reset_at: null } },
  );
}
