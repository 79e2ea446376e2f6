import { hash } from 'node:crypto';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Logger } from '../../../platform/log.ts';
import { readBuilt } from '../client-package.ts';
import type { ClientManifest } from './tables.ts';

export interface ClientPackagesOptions {
  readonly database: Pick<Database, 'kysely'>;
  readonly log: Pick<Logger, 'warn'>;
}

export interface ClientPackage {
  readonly version: string;
  readonly manifest: ClientManifest;
  /** When it was stored. */
  readonly created_at: string;
}

/**
 * The packages of the SDK of all releases that have served this database. The first node of a
 * release that is asked stores that of its own (DECISIONS.md#packages-of-the-sdk-are-stored).
 */
export class ClientPackages {
  readonly #options: ClientPackagesOptions;
  #stored: Promise<void> | undefined;

  constructor(options: ClientPackagesOptions) {
    this.#options = options;
  }

  /**
   * Returns all packages in the order in which they were stored. Rejects as `readBuilt` does if
   * none is stored, and this server has none.
   */
  async list(): Promise<readonly ClientPackage[]> {
    const missing = await this.#storeOwn();
    const rows = await this.#options.database.kysely
      .selectFrom('client_packages')
      .select(['version', 'manifest', 'created_at'])
      .orderBy('created_at')
      .execute();
    if (rows.length === 0 && missing !== undefined) throw missing;
    return rows;
  }

  /** Returns the tarball of a version, or undefined if no node has stored it. */
  async tarball(version: string): Promise<Buffer | undefined> {
    await this.#storeOwn();
    const row = await this.#options.database.kysely
      .selectFrom('client_packages')
      .select('tarball')
      .where('version', '=', version)
      .executeTakeFirst();
    return row?.tarball;
  }

  /** Stores this server's own package, once. Returns the reason if it was built without. */
  async #storeOwn(): Promise<ApiError | undefined> {
    this.#stored ??= this.#store();
    try {
      await this.#stored;
      return undefined;
    } catch (error) {
      this.#stored = undefined;
      if (error instanceof ApiError && error.condition === 'resource_not_found') return error;
      throw error;
    }
  }

  async #store(): Promise<void> {
    const { database, log } = this.#options;
    const tarball = await readBuilt('package.tgz');
    const built = JSON.parse((await readBuilt('manifest.json')).toString()) as Omit<ClientManifest, 'dist'>;
    const version = String(built.version);
    const integrity = `sha512-${hash('sha512', tarball, 'base64')}`;
    const manifest = JSON.stringify({ ...built, dist: { integrity, shasum: hash('sha1', tarball) } });
    await database.kysely
      .insertInto('client_packages')
      .values({ version, manifest, tarball })
      .onConflict((conflict) => conflict.column('version').doNothing())
      .execute();
    const { manifest: stored } = await database.kysely
      .selectFrom('client_packages')
      .select('manifest')
      .where('version', '=', version)
      .executeTakeFirstOrThrow();
    if (stored.dist.integrity === integrity) return;
    log.warn(
      { version, stored: stored.dist.integrity, built: integrity },
      'another package of the SDK is stored for this version, and is served in place of the one built here',
    );
  }
}
