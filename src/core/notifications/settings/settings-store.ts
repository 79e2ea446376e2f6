import type { NotificationSettings } from '../../../contract/protocol/resources/notification-settings.ts';
import type { Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';

/** The settings of a user, as a row of Postgres. */
export interface SettingsRow
  extends Pick<
    NotificationSettings,
    'categories' | 'mute_until' | 'do_not_disturb' | 'digest_after_minutes'
  > {
  readonly actor_id: string;
  readonly updated_at: string;
}

/** Returns the rows of these users; a user with the defaults has none. */
export function readSettings(db: Querier, userIds: readonly string[]): Promise<SettingsRow[]> {
  return db.query(READ_SETTINGS, userIds);
}

export async function writeSettings(
  tx: Tx,
  user: { readonly id: string; readonly accountId: string },
  settings: Omit<SettingsRow, 'actor_id' | 'updated_at'>,
): Promise<SettingsRow> {
  const { categories, mute_until, do_not_disturb, digest_after_minutes } = settings;
  const [row] = await tx.query(
    WRITE_SETTINGS,
    ...([user.id, user.accountId] as const),
    ...([JSON.stringify(categories), mute_until] as const),
    ...([do_not_disturb && JSON.stringify(do_not_disturb), digest_after_minutes] as const),
  );
  return row!;
}

export async function deleteSettings(tx: Tx, userId: string): Promise<void> {
  await tx.query(DELETE_SETTINGS, userId);
}

/** Returns whether a user of the account keeps a category off its sockets. */
export async function hasOffSockets(db: Querier, accountId: string): Promise<boolean> {
  const [found] = await db.query(FIND_OFF_SOCKETS, accountId);
  return found !== undefined;
}

const COLUMNS = 'actor_id, categories, mute_until, do_not_disturb, digest_after_minutes, updated_at';

const READ_SETTINGS = statement<[userIds: readonly string[]], SettingsRow>({
  name: 'read-notification-settings',
  text: `SELECT ${COLUMNS} FROM notification_settings WHERE actor_id = ANY($1)`,
});

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
>({
  name: 'write-notification-settings',
  text: `
    INSERT INTO notification_settings AS s
      (actor_id, account_id, categories, mute_until, do_not_disturb, digest_after_minutes)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (actor_id) DO UPDATE SET categories = excluded.categories, mute_until = excluded.mute_until,
      do_not_disturb = excluded.do_not_disturb, digest_after_minutes = excluded.digest_after_minutes,
      updated_at = later_than(s.updated_at)
    RETURNING ${COLUMNS}`,
});

const DELETE_SETTINGS = statement<[userId: string]>({
  name: 'delete-notification-settings',
  text: 'DELETE FROM notification_settings WHERE actor_id = $1',
});

const FIND_OFF_SOCKETS = statement<[accountId: string]>({
  name: 'find-account-off-sockets',
  text: 'SELECT FROM notification_settings WHERE account_id = $1 AND off_sockets LIMIT 1',
});
