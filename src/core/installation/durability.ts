import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Logger } from '../../platform/log.ts';

/**
 * Warns of settings of Postgres with which a crash of its machine may lose or damage what is
 * stored. Rejects if `fsync` is off and no message would be lost by mending that first.
 * `synchronous_commit` is not looked at: connections set it themselves (connection-options.ts).
 */
export async function requireDurability(db: Pick<Db, 'query'>, log: Logger): Promise<void> {
  const off = await unsafeSettings(db);
  if (off.includes('fsync')) {
    const [row] = await db.query(HAS_MESSAGES);
    if (row?.has_messages !== true) {
      throw new Error(
        'Postgres does not write to disk what it has committed (fsync = off), so a crash of its machine may lose everything: ' +
          'set fsync = on there, or PARLEY_UNSAFE_POSTGRES=accept for data that may be lost',
      );
    }
  }
  if (off.length > 0) {
    log.warn(
      { off },
      'Postgres may lose or damage data in a crash of its machine: set these on (docs/operations.md#when-postgres-needs-attention)',
    );
  }
}

/** Returns which settings are off without which a crash of the machine of Postgres does harm. */
export async function unsafeSettings(db: Pick<Db, 'query'>): Promise<string[]> {
  return (await db.query(READ_UNSAFE)).map(({ name }) => name);
}

const READ_UNSAFE = statement<[], { name: string }>('read-unsafe-settings')`
    SELECT name FROM unnest(ARRAY['fsync', 'full_page_writes']) AS name
    WHERE current_setting(name) = 'off'`;

const HAS_MESSAGES = statement<[], { has_messages: boolean }>('has-messages')`
    SELECT EXISTS (SELECT FROM messages) AS has_messages`;
