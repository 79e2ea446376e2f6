import { ApiError } from '@parley/protocol/errors/errors.ts';
import { NOTIFICATION_CATEGORIES } from '@parley/protocol/resources/notification.ts';
import {
  type CategoryChannels,
  type NotificationChannel,
  type NotificationSettings,
  type SetNotificationSettingsBody,
  WEEKDAYS,
} from '@parley/protocol/resources/notification-settings.ts';
import { isTimezone } from '@parley/protocol/schema/formats.ts';
import type { Selectable } from 'kysely';
import { RevocableCache } from '../../../api/access/revocable-cache.ts';
import type { Rights } from '../../../api/access/rights.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { GatheredReads } from '../../../platform/db/connection/gathered-reads.ts';
import type { Db, Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { enqueueRightsChanged } from '../../accounts/rights/rights-changed.ts';
import { requireComing } from '../../conversations/participants/own-state.ts';
import { isWithin } from './do-not-disturb.ts';

const ALL_CHANNELS: CategoryChannels = { socket: true, push: true, mail: true };

const DEFAULTS: NotificationSettings = {
  object: 'notification_settings',
  categories: Object.fromEntries(NOTIFICATION_CATEGORIES.map((category) => [category, ALL_CHANNELS])),
  mute_until: null,
  do_not_disturb: null,
  digest_after_minutes: null,
  updated_at: null,
};

const MAX_CACHED = 50_000;

/**
 * Cache of the settings of users (docs/contract.md#notification-settings), and of the accounts in
 * which a user keeps a category off its sockets: in other accounts a send needs no settings.
 */
export class SettingsOfUsers {
  readonly #users: RevocableCache<NotificationSettings>;
  readonly #accounts: RevocableCache<boolean>;

  constructor(database: Pick<Database, 'reader'>, rights: Rights) {
    const reads = new GatheredReads(async (userIds: readonly string[]) => {
      const rows = new Map((await readSettings(database.reader, userIds)).map((row) => [row.actor_id, row]));
      return userIds.map((id) => present(rows.get(id)));
    });
    const common = { rights, max: MAX_CACHED };
    this.#users = new RevocableCache({
      ...common,
      load: (userId) => reads.ask(userId),
      subjectsOf: (_settings, userId) => [settingsSubject(userId)],
    });
    this.#accounts = new RevocableCache({
      ...common,
      load: (accountId) => hasOffSockets(database.reader, accountId),
      subjectsOf: (_isOff, accountId) => [settingsSubject(accountId)],
    });
  }

  /** Returns a user's settings. Synchronous if cached. */
  of(userId: string): NotificationSettings | Promise<NotificationSettings> {
    return this.#users.get(userId);
  }

  async settingsOf(userIds: readonly string[]): Promise<ReadonlyMap<string, NotificationSettings>> {
    const settings = await Promise.all(userIds.map((id) => this.of(id)));
    return new Map(userIds.map((id, index) => [id, settings[index]!]));
  }

  /** Returns whether an account's user keeps a category off sockets. Synchronous if cached. */
  hasOffSockets(accountId: string): boolean | Promise<boolean> {
    return this.#accounts.get(accountId);
  }
}

/** Returns whether `notification.created` of this category ever reaches the sockets of a user. */
export function reachesSockets(
  { categories }: Pick<NotificationSettings, 'categories'>,
  category: string,
): boolean {
  return categories[category]?.socket ?? true;
}

/**
 * Returns whether a notification may reach its user on this channel at that time: the category has
 * the channel, and the user is neither muted nor within its do-not-disturb hours.
 */
export function mayInterrupt(
  settings: Pick<NotificationSettings, 'categories' | 'mute_until' | 'do_not_disturb'>,
  category: string,
  channel: Exclude<NotificationChannel, 'socket'>,
  at: Date,
): boolean {
  const { categories, mute_until: muteUntil, do_not_disturb: hours } = settings;
  if (!(categories[category] ?? ALL_CHANNELS)[channel]) return false;
  if (muteUntil !== null && at.getTime() < Date.parse(muteUntil)) return false;
  return hours === null || !isWithin(hours, at);
}

export async function readOwnSettings(db: Db, userId: string): Promise<NotificationSettings> {
  const [row] = await readSettings(db, [userId]);
  return present(row);
}

/**
 * Returns the settings as their user sees them: without a mute that has ended, to be sent back as
 * is.
 */
export async function showSettings(db: Db, userId: string): Promise<NotificationSettings> {
  const settings = await readOwnSettings(db, userId);
  const { mute_until: until } = settings;
  return until === null || Date.parse(until) > Date.now() ? settings : { ...settings, mute_until: null };
}

/**
 * Replaces the settings of a user; absent fields get their defaults. Throws ApiError
 * `invalid_format` (an unknown timezone) or `validation_failed` (a `mute_until` that is not within
 * the next year).
 */
export async function setSettings(
  tx: Tx,
  user: Parameters<typeof announceSettings>[1],
  {
    categories = {},
    mute_until = null,
    do_not_disturb,
    digest_after_minutes = null,
  }: SetNotificationSettingsBody,
): Promise<NotificationSettings> {
  if (do_not_disturb && !isTimezone(do_not_disturb.timezone)) {
    throw new ApiError('invalid_format', 'Must be an IANA timezone such as Europe/Berlin.', {
      param: 'do_not_disturb.timezone',
    });
  }
  if (mute_until !== null) await requireComing(tx, mute_until, 'mute_until');
  const channelsOf = Object.fromEntries(
    Object.entries(categories).map(([category, channels]) => [category, { ...ALL_CHANNELS, ...channels }]),
  );
  const hours = do_not_disturb && { ...do_not_disturb, days: do_not_disturb.days ?? [...WEEKDAYS] };
  const [row] = await tx.query(
    WRITE_SETTINGS,
    user.id,
    user.account_id,
    JSON.stringify(channelsOf),
    mute_until,
    hours ? JSON.stringify(hours) : null,
    digest_after_minutes,
  );
  await announceSettings(tx, user);
  return present(row);
}

/** Makes every node read the settings of a user again. */
export function announceSettings(
  tx: Tx,
  { id, account_id }: { readonly id: string; readonly account_id: string },
): Promise<void> {
  return enqueueRightsChanged(tx, [settingsSubject(id), settingsSubject(account_id)]);
}

/** Returns the subject of the changed-rights frame for new settings, of a user or in an account. */
function settingsSubject(id: string): string {
  return `notification-settings:${id}`;
}

function present(row: SettingsRow | undefined): NotificationSettings {
  if (row === undefined) return DEFAULTS;
  const { actor_id: _, categories, ...settings } = row;
  return {
    object: 'notification_settings',
    categories: { ...DEFAULTS.categories, ...categories },
    ...settings,
  };
}

export type SettingsRow = Omit<
  Selectable<Schema['notification_settings']>,
  'account_id' | 'off_sockets' | 'created_at'
>;

/** Returns the rows of these users; a user with the defaults has none. */
export function readSettings(db: Querier, userIds: readonly string[]): Promise<SettingsRow[]> {
  return db.query(READ_SETTINGS, userIds);
}

export async function hasOffSockets(db: Querier, accountId: string): Promise<boolean> {
  const [found] = await db.query(FIND_OFF_SOCKETS, accountId);
  return found !== undefined;
}

const COLUMNS = 'actor_id, categories, mute_until, do_not_disturb, digest_after_minutes, updated_at';

const READ_SETTINGS = statement<[userIds: readonly string[]], SettingsRow>('read-notification-settings')`
    SELECT ${COLUMNS} FROM notification_settings WHERE actor_id = ANY($1)`;

const WRITE_SETTINGS = statement<
  [
    userId: string,
    accountId: string,
    categories: string,
    muteUntil: string | null,
    doNotDisturb: string | null,
    digestAfterMinutes: number | null,
  ],
  SettingsRow
>('write-notification-settings')`
    INSERT INTO notification_settings AS s
      (actor_id, account_id, categories, mute_until, do_not_disturb, digest_after_minutes)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (actor_id) DO UPDATE SET categories = excluded.categories, mute_until = excluded.mute_until,
      do_not_disturb = excluded.do_not_disturb, digest_after_minutes = excluded.digest_after_minutes,
      updated_at = later_than(s.updated_at)
    RETURNING ${COLUMNS}`;

const FIND_OFF_SOCKETS = statement<[accountId: string]>('find-account-off-sockets')`
    SELECT FROM notification_settings WHERE account_id = $1 AND off_sockets LIMIT 1`;
