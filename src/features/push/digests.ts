import { newId } from '../../contract/protocol/ids.ts';
import type { NotificationSettings } from '../../contract/protocol/resources/notification-settings.ts';
import type { MailText } from '../../core/features/feature.ts';
import { mayInterrupt, readOwnSettings } from '../../core/notifications/settings/settings.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { digestMail } from './digest-mail.ts';
import {
  addToDigest,
  type DigestRow,
  isDue,
  lockUndigested,
  markDigested,
  readDigested,
  readDueUsers,
  tidyDigests,
} from './digest-store.ts';

export interface DigestsOptions {
  readonly database: Database;
  readonly metrics: Pick<Metrics, 'digests' | 'digestsWaiting'>;
  readonly log: Logger;
  /** Default: the clock of this machine. */
  readonly now?: () => Date;
}

const LOOK_EVERY_MS = 60 * 1_000;
const USERS_AT_ONCE = 500;
const NOTIFICATIONS_AT_ONCE = 1_000;

/**
 * Queues mails about notifications that stayed unseen for as long as the user's settings say
 * (docs/contract.md#digests). Every node looks for them. The notifications are locked and marked in
 * the transaction that queues the mail, so that two nodes queue it once, a node that dies queues
 * all of it or nothing, and no notification is in two mails.
 */
export class Digests {
  readonly #options: DigestsOptions;
  readonly #loop: Loop;

  constructor(options: DigestsOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: LOOK_EVERY_MS,
      run: (signal) => this.look(signal),
      onError: (error) => options.log.warn({ err: error }, 'looking for digests failed'),
    });
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  /** Queues all due digests. */
  async look(signal?: AbortSignal): Promise<void> {
    const { database, metrics, now = () => new Date() } = this.#options;
    const at = now();
    for (let after: string | undefined = ''; after !== undefined && signal?.aborted !== true; ) {
      const userIds: string[] = await readDueUsers(database, after, at.toISOString(), USERS_AT_ONCE);
      for (const userId of userIds) {
        if (await database.transaction((tx) => queueDigest(tx, userId, at))) metrics.digests.inc();
      }
      after = userIds.length === USERS_AT_ONCE ? userIds.at(-1) : undefined;
    }
    metrics.digestsWaiting.set(await tidyDigests(database));
  }
}

/**
 * Returns the mail of a digest, or undefined if all of it has been seen. Times are in the timezone
 * of the user's do-not-disturb hours.
 */
export async function writeDigestMail(db: Db, digest: DigestRow): Promise<MailText | undefined> {
  const notifications = await readDigested(db, digest);
  if (notifications.length === 0) return undefined;
  const { do_not_disturb: hours } = await readOwnSettings(db, digest.actor_id);
  return digestMail({ notifications, more: digest.more, timezone: hours?.timezone ?? 'UTC' });
}

/**
 * Queues the digest of a user once the oldest unseen notification is due: all unseen ones that no
 * digest has considered. Categories that the user does not want mailed are marked and left out.
 * Returns whether anything was queued.
 */
async function queueDigest(tx: Tx, userId: string, at: Date): Promise<boolean> {
  const settings = await readOwnSettings(tx, userId);
  // Do-not-disturb hours and muting delay the whole digest, whatever its categories.
  if (
    settings.digest_after_minutes === null ||
    !mayInterrupt({ ...settings, categories: {} }, '', 'mail', at)
  ) {
    return false;
  }
  const now = at.toISOString();
  let isQueued = false;
  for (let isFirst = true, isMore = true; isMore; isFirst = false) {
    const rows = await lockUndigested(tx, userId, now, NOTIFICATIONS_AT_ONCE);
    // Another node may have queued them while this one waited for the locks.
    if (rows.length === 0 || (isFirst && !(await isDue(tx, userId, now)))) break;
    const mailed = rows.filter(({ category }) => isMailed(settings, category)).map(({ id }) => id);
    if (mailed.length > 0) await addToDigest(tx, userId, newId('digest'), mailed);
    await markDigested(
      tx,
      userId,
      rows.map(({ id }) => id),
      now,
    );
    isQueued ||= mailed.length > 0;
    isMore = rows.length === NOTIFICATIONS_AT_ONCE;
  }
  return isQueued;
}

function isMailed({ categories }: NotificationSettings, category: string): boolean {
  return categories[category]?.mail ?? true;
}
