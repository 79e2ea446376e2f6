import { newId } from '@parley/protocol/ids.ts';
import { newApiKey } from '../../src/api/access/api-keys.ts';
import { Rights } from '../../src/api/access/rights.ts';
import type { Engine } from '../../src/core/frames/engine.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';

export const silent = createLog('silent');

/** A database of its own, migrated and empty. */
export async function openTestDatabase(t: Teardown): Promise<Database> {
  const { url } = await createTestDatabase(t);
  return connectTo(url, t);
}

/** Another node's pool on the same database. */
export async function connectTo(url: string, t: Teardown): Promise<Database> {
  const database = await openDatabase({ url, log: silent });
  t.teardown(() => database.close());
  return database;
}

export async function openRights(engine: Engine, t: Teardown): Promise<Rights> {
  const rights = await Rights.open(engine);
  t.teardown(() => rights.close());
  return rights;
}

/**
 * Inserts the rows of one account that a test needs; `accountId` and `roleId` are the ids of the
 * account and its role.
 */
export class AccountRows {
  readonly accountId = newId('account');
  readonly roleId = newId('role');
  readonly #database: Database;

  static async insert(
    database: Database,
    role: { type?: 'admin' | 'user'; permissions?: string[] } = {},
  ): Promise<AccountRows> {
    const rows = new AccountRows(database);
    await database.kysely.insertInto('accounts').values({ id: rows.accountId, name: 'Harbor' }).execute();
    await database.kysely
      .insertInto('roles')
      .values({
        id: rows.roleId,
        account_id: rows.accountId,
        name: 'Desk',
        type: role.type ?? 'user',
        permissions: role.permissions ?? ['messaging:read'],
      })
      .execute();
    return rows;
  }

  private constructor(database: Database) {
    this.#database = database;
  }

  /** The id of a new actor. */
  async actor(
    values: {
      type?: 'user' | 'api_key' | 'agent';
      handle?: string;
      avatarUrl?: string;
      customer?: boolean;
    } = {},
  ): Promise<string> {
    const id = newId('actor');
    await this.#database.kysely
      .insertInto('actors')
      .values({
        id,
        account_id: this.accountId,
        type: values.type ?? 'user',
        customer: values.customer ?? false,
        name: 'Ada',
        handle: values.handle ?? null,
        avatar_url: values.avatarUrl ?? null,
        role_id: values.customer === true ? null : this.roleId,
      })
      .execute();
    return id;
  }

  async key(values: { expiresAt?: string } = {}): Promise<{ key: string; id: string; actorId: string }> {
    const { key, hash, redacted } = newApiKey();
    const actorId = await this.actor({ type: 'api_key', handle: redacted });
    const id = newId('apiKey');
    await this.#database.kysely
      .insertInto('api_keys')
      .values({
        id,
        account_id: this.accountId,
        actor_id: actorId,
        name: 'Key',
        hash,
        redacted,
        expires_at: values.expiresAt ?? null,
        revoked_at: null,
      })
      .execute();
    return { key, id, actorId };
  }

  async revoke(keyId: string): Promise<void> {
    await this.#database.kysely
      .updateTable('api_keys')
      .set({ revoked_at: new Date().toISOString() })
      .where('id', '=', keyId)
      .execute();
  }

  async deactivate(actorId: string): Promise<void> {
    await this.#database.kysely
      .updateTable('actors')
      .set({ deactivated_at: new Date().toISOString() })
      .where('id', '=', actorId)
      .execute();
  }
}

/** A clock whose time passes only when a test advances it. */
export class ManualClock {
  nowMs: number;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  readonly now = (): number => this.nowMs;
}
