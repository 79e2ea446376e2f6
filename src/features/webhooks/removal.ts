import { timedId } from '@parley/protocol/ids.ts';
import { audit } from '../../core/audit/audit.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { BackgroundWork } from '../../platform/background.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { Loop } from '../../platform/lifecycle.ts';
import { disableWebhook } from './disable.ts';
import type { WebhookTimes } from './times.ts';
import { deleteWebhook, lockWebhookById } from './webhook-store.ts';

export interface RemovalOptions extends Pick<NodeParts, 'database' | 'log'> {
  readonly times: Pick<WebhookTimes, 'disabledMs'>;
  /** Days for which delivered and withdrawn deliveries are kept. */
  readonly keepDays: number;
  /** Maximum failed deliveries of a webhook. */
  readonly maxFailed?: number;
}

/** Returns the loop that removes leftovers of webhooks. It may run on all nodes at once. */
export function openRemoval(options: RemovalOptions): Loop {
  return new Loop({
    intervalMs: REMOVE_EVERY_MS,
    run: (signal) => removeOld(options, signal),
    onError: (error) => options.log.warn({ err: error }, 'removing old webhook deliveries failed'),
  });
}

/**
 * Removes webhooks that have been disabled for too long, deliveries of deleted webhooks, and old
 * deliveries that are done. Disables webhooks with too many failed deliveries. May run on several
 * nodes at once.
 */
export async function removeOld(options: RemovalOptions, signal: AbortSignal): Promise<void> {
  const { database, times, keepDays, maxFailed = MAX_FAILED } = options;
  const { disabledMs } = times;
  for (const { id } of await database.query(READ_FORGOTTEN, disabledMs)) await removeForgotten(options, id);
  const before = timedId('webhookDelivery', (Date.now() - keepDays * DAY_MS) * 1_000, '');
  for (const { id, exists } of await database.query(READ_DELIVERED_TO)) {
    if (exists) {
      await removeAll(options, REMOVE_DONE, [id, before], signal);
      await removeAll(options, FORGET_TRIES, [id, before], signal);
    } else await removeAll(options, REMOVE_EVERY, [id], signal);
    if (signal.aborted) return;
  }
  for (const { id, exists } of await database.query(READ_PROGRESSED)) {
    if (!exists) await removeAll(options, REMOVE_PROGRESS, [id], signal);
    if (signal.aborted) return;
  }
  for (const { id } of await database.query(READ_OVERFULL, maxFailed)) {
    await disableWebhook(database, id, 'backlog');
    await database.query(STOP_RECORDING, id);
  }
}

const MAX_FAILED = 100_000;

async function removeForgotten({ database, times }: RemovalOptions, id: string): Promise<void> {
  await database.transaction(async (tx) => {
    const webhook = await lockWebhookById(tx, id);
    if (webhook?.status !== 'disabled') return;
    const [isDue] = await tx.query(READ_FORGOTTEN_ONE, id, times.disabledMs);
    if (isDue === undefined) return;
    await deleteWebhook(tx, webhook);
    await audit(tx, {
      accountId: webhook.account_id,
      action: 'webhook.deleted',
      details: { webhook_id: id, disabled_reason: webhook.disabled_reason },
    });
  });
}

async function removeAll<Params extends readonly string[]>(
  { database }: RemovalOptions,
  removal: { readonly name: string; readonly text: string },
  params: Params,
  signal: AbortSignal,
): Promise<void> {
  const work = new BackgroundWork(database.load);
  for (let isMore = true; isMore && !signal.aborted; ) {
    isMore = (await database.query(removal, ...params, REMOVED_AT_ONCE)).length === REMOVED_AT_ONCE;
    await work.rest(signal);
  }
}

const DAY_MS = 24 * 60 * 60 * 1_000;
const REMOVE_EVERY_MS = 10 * 60 * 1_000;
const REMOVED_AT_ONCE = 2_000;

const FORGOTTEN = `status = 'disabled'
      AND disabled_at <= clock_timestamp() - $DISABLED::double precision * interval '1 ms'`;

const READ_FORGOTTEN = statement<[disabledMs: number], { id: string }>('read-forgotten-webhooks')`
    SELECT id FROM webhooks WHERE ${FORGOTTEN.replace('$DISABLED', '$1')} ORDER BY id`;

const READ_FORGOTTEN_ONE = statement<[id: string, disabledMs: number], object>('read-forgotten-webhook')`
    SELECT FROM webhooks WHERE id = $1 AND ${FORGOTTEN.replace('$DISABLED', '$2')}`;

/** Finds the webhooks with rows in a table, one by one in its primary key. */
function webhooksIn(table: 'webhook_deliveries' | 'webhook_progress') {
  return statement<[], { id: string; exists: boolean }>(`read-webhooks-in-${table.replace('_', '-')}`)`
    WITH RECURSIVE found AS (
      (SELECT webhook_id FROM ${table} ORDER BY webhook_id LIMIT 1)
      UNION ALL
      SELECT (SELECT t.webhook_id FROM ${table} t WHERE t.webhook_id > found.webhook_id
        ORDER BY t.webhook_id LIMIT 1)
      FROM found WHERE found.webhook_id IS NOT NULL
    )
    SELECT found.webhook_id AS id, w.id IS NOT NULL AS exists
    FROM found LEFT JOIN webhooks w ON w.id = found.webhook_id WHERE found.webhook_id IS NOT NULL`;
}

const READ_DELIVERED_TO = webhooksIn('webhook_deliveries');
const READ_PROGRESSED = webhooksIn('webhook_progress');

const REMOVE_EVERY = statement<[webhookId: string, limit: number], object>(
  'remove-deliveries-of-removed-webhook',
)`
    DELETE FROM webhook_deliveries WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM webhook_deliveries WHERE webhook_id = $1 LIMIT $2)) RETURNING 1`;

const REMOVE_PROGRESS = statement<[webhookId: string, limit: number], object>(
  'remove-progress-of-removed-webhook',
)`
    DELETE FROM webhook_progress WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM webhook_progress WHERE webhook_id = $1 LIMIT $2)) RETURNING 1`;

const REMOVE_DONE = statement<[webhookId: string, before: string, limit: number], object>(
  'remove-done-webhook-deliveries',
)`
    DELETE FROM webhook_deliveries WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM webhook_deliveries
      WHERE webhook_id = $1 AND id < $2 AND (status IN ('delivered', 'withdrawn') OR status = 'failed' AND url IS NOT NULL)
      LIMIT $3)) RETURNING 1`;

// Answers may have personal data in them, and failed deliveries stay.
const FORGET_TRIES = statement<[webhookId: string, before: string, limit: number], object>(
  'forget-tries-of-webhook-deliveries',
)`
    UPDATE webhook_deliveries SET tries = NULL WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM webhook_deliveries
      WHERE webhook_id = $1 AND id < $2 AND status IN ('pending', 'failed') AND tries IS NOT NULL
      LIMIT $3)) RETURNING 1`;

const READ_OVERFULL = statement<[most: number], { id: string }>('read-overfull-webhooks')`
    SELECT w.id FROM webhooks w
    WHERE w.disabled_reason IS DISTINCT FROM 'backlog' AND NOT w.is_callback AND EXISTS (
      SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.status = 'failed'
      ORDER BY d.id OFFSET $1 LIMIT 1)`;

// For a webhook that was already disabled for another reason.
const STOP_RECORDING = statement<[id: string]>('stop-recording-webhook')`
    UPDATE webhooks SET disabled_reason = 'backlog', lost_since = coalesce(lost_since, clock_timestamp())
    WHERE id = $1 AND status = 'disabled'`;
