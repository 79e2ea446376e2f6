import { hash } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import { audit } from '../../src/core/audit/audit.ts';
import { exportAudit } from '../../src/core/audit/chain-store.ts';
import { sealRows } from '../../src/core/audit/sealer.ts';
import { SigningKey, TrustedKeys } from '../../src/core/audit/signing-key.ts';
import { type Verification, verifyExport } from '../../src/core/audit/verify.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import type { Tx } from '../../src/platform/db/connection/handle.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { createLog } from '../../src/platform/log.ts';
import { AccountRows } from '../access/rows.ts';
import { freshDirectory } from '../start/parley.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';

export const log = createLog('silent');

/** A database of its own, and the key of a deployment. */
export async function openStand(
  t: Teardown,
): Promise<{ readonly url: string; readonly database: Database; readonly signingKey: SigningKey }> {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  return { url, database, signingKey: await newSigningKey(t) };
}

export function newSigningKey(t: Teardown, oldKeys: readonly string[] = []): Promise<SigningKey> {
  return SigningKey.open({ key: null, oldKeys, dataDir: freshDirectory(t) });
}

/** The audit of one account, in the hands of a test. */
export class TestChain {
  readonly accountId: string;
  readonly #database: Database;
  readonly #signingKey: SigningKey;
  #acted = 0;

  static async create(database: Database, signingKey: SigningKey): Promise<TestChain> {
    const { accountId } = await AccountRows.insert(database);
    return new TestChain(database, signingKey, accountId);
  }

  constructor(database: Database, signingKey: SigningKey, accountId: string) {
    this.#database = database;
    this.#signingKey = signingKey;
    this.accountId = accountId;
  }

  /** Records `count` events, each in a transaction of its own. */
  async act(count: number, conversationId: string | null = null): Promise<void> {
    for (let i = 0; i < count; i++) {
      await this.#database.transaction((tx) => this.actIn(tx, conversationId));
    }
  }

  actIn(tx: Tx, conversationId: string | null = null): Promise<void> {
    return audit(tx, {
      accountId: this.accountId,
      conversationId,
      actorId: null,
      action: 'conversation.renamed',
      details: { from: `Title ${this.#acted}`, n: this.#acted++ },
    });
  }

  async seal(signingKey = this.#signingKey): Promise<number> {
    const sealed = await this.#database.transaction((tx) => sealRows(tx, signingKey, this.accountId));
    return sealed?.rows ?? 0;
  }

  async lines(): Promise<string[]> {
    const lines: string[] = [];
    await exportAudit(this.#database, this.accountId, async (line) => void lines.push(JSON.stringify(line)));
    return lines;
  }

  /** Of the chain as it stands in the database. */
  async verify(heads: readonly object[] = [], keys = [this.#signingKey.publicKey]): Promise<Verification> {
    return verifyExport({ lines: await this.lines(), trusted: new TrustedKeys(keys), heads });
  }

  async createConversation(legalHold: 'held' | 'released' = 'released'): Promise<string> {
    const id = newId('conversation');
    await this.#database.kysely
      .insertInto('conversations')
      .values({ id, account_id: this.accountId, type: 'group', audience: 'internal', legal_hold: legalHold })
      .execute();
    return id;
  }

  /** The number of its rows. */
  async rows(): Promise<number> {
    const [row] = await this.#database.query(COUNT, this.accountId);
    return row?.rows ?? 0;
  }

  async unsealed(): Promise<number> {
    const [row] = await this.#database.query(COUNT, this.accountId);
    return row?.unsealed ?? 0;
  }

  /**
   * Runs SQL on the rows of this account, as a person with full access to the database could: `$1`
   * is the account.
   */
  async tamper(text: string, ...values: readonly (string | number)[]): Promise<void> {
    await this.#database.query({ name: `tamper-${hash('sha1', text)}`, text }, this.accountId, ...values);
  }
}

const COUNT = statement<[accountId: string], { rows: number; unsealed: number }>('count-audit-rows')`
    SELECT count(*) AS rows, count(*) FILTER (WHERE number IS NULL) AS unsealed
    FROM audit_events WHERE account_id = $1`;
