import { filtersOf } from '@parley/protocol/event-areas.ts';
import { covers, keptVersion, type Version } from '@parley/protocol/versions.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { WebhookRow } from './webhook-store.ts';

/**
 * The fields that decide which events a webhook is sent. Includes disabled webhooks, whose events
 * are recorded as failed.
 */
export type ListeningWebhook = Pick<WebhookRow, 'id' | 'account_id' | 'include_direct'> & {
  /** The version of its payloads. */
  readonly version: Version;
  readonly filters: ReadonlySet<string>;
};

/** By account. */
export type ListeningWebhooks = ReadonlyMap<string, readonly ListeningWebhook[]>;

/**
 * Returns the webhooks of all accounts. Nodes keep them in memory
 * (core/accounts/account/listeners.ts).
 */
export async function readListeningWebhooks(db: Querier): Promise<ListeningWebhooks> {
  const rows = await db.query(READ);
  return Map.groupBy(
    rows.map(({ event_types, version, ...webhook }) => ({
      ...webhook,
      version: keptVersion(version),
      filters: new Set(event_types),
    })),
    ({ account_id }) => account_id,
  );
}

/**
 * Returns whether the filter admits an event; an area, only if the webhook's version has the event.
 * `isDirect`: it is about a direct message.
 */
export function wants(
  { filters, include_direct, version }: Pick<ListeningWebhook, 'filters' | 'include_direct' | 'version'>,
  { type, isDirect }: { readonly type: string; readonly isDirect: boolean },
): boolean {
  if (isDirect && !include_direct) return false;
  if (filters.has(type)) return true;
  const since = SINCE[type];
  if (since !== undefined && !covers(version, since)) return false;
  return filtersOf(type).some((filter) => filters.has(filter));
}

/**
 * The first version of events that are newer than webhooks: areas of earlier versions lack them.
 */
const SINCE: Readonly<Record<string, Version>> = {
  'message.question_ended': '1.5.harbor-preview.1',
};

const READ = statement<
  [],
  Pick<WebhookRow, 'id' | 'account_id' | 'include_direct' | 'version' | 'event_types'>
>('read-listening-webhooks')`SELECT id, account_id, include_direct, version, event_types FROM webhooks
    WHERE NOT is_callback`;
