import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { bounded } from '../../platform/bounded.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { CoreMetrics } from '../metrics.ts';
import { type AuditHead, GENESIS, hashDetails, hashLink } from './chain.ts';
import {
  type ChainEnd,
  HAS_UNSEALED,
  lockChain,
  type PendingChain,
  readPendingChains,
  saveHead,
  type UnsealedRow,
} from './chain-store.ts';
import type { Signed, SigningKey, TrustedKeys } from './signing-key.ts';

export interface SealerOptions {
  readonly database: Database;
  readonly signingKey: SigningKey;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly metrics: Pick<CoreMetrics, 'auditSealed' | 'auditUnsealedSeconds'>;
  readonly log: Logger;
}

/**
 * Appends the rows of the audit to the chain of their account, behind the commits that wrote them.
 * Every node has a sealer; the lock of a chain decides which of them seals.
 */
export class Sealer {
  readonly #options: SealerOptions;
  readonly #loop: Loop;
  /** The account after which the next round begins, so that a failing account starves no other. */
  #after = '';
  /** Accounts whose head was logged within a day. */
  readonly #logged = new LRUCache<string, true>({ ...bounded(10_000), ttl: LOG_HEAD_EVERY_MS });
  /** Accounts that could not be sealed a moment ago. */
  readonly #refused = new LRUCache<string, true>({ ...bounded(10_000), ttl: RETRY_REFUSED_MS });
  /** Accounts whose lateness was logged within a minute. */
  readonly #alarmed = new LRUCache<string, true>({ ...bounded(10_000), ttl: ALARM_EVERY_MS });

  constructor(options: SealerOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: (signal) => this.#round(signal),
      onError: (error) => options.log.warn({ err: error }, 'sealing the audit failed'),
    });
    options.watch.add({ name: 'audit', condition: HAS_UNSEALED, onDue: () => this.wake() });
  }

  wake(): void {
    this.#loop.wake();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { database, metrics } = this.#options;
    const chains = await readPendingChains(database, this.#after, MAX_CHAINS);
    const isWhole = this.#after === '' && chains.length < MAX_CHAINS;
    this.#after = chains.length < MAX_CHAINS ? '' : chains.at(-1)!.account_id;
    const oldest = Math.max(0, ...chains.map(({ seconds }) => seconds ?? 0));
    // A part of the accounts can show that rows are late, but not that none are.
    if (isWhole || oldest > ALARMING_S) metrics.auditUnsealedSeconds.set(oldest);
    let rows = 0;
    for (const chain of chains) if (!signal.aborted) rows += await this.#seal(chain, signal);
    if (!isWhole && rows > 0) this.wake();
  }

  /**
   * Returns the number of sealed rows. A failure affects only its account, whose rows are tried
   * again.
   */
  async #seal(chain: PendingChain, signal: AbortSignal): Promise<number> {
    const { database, signingKey, metrics } = this.#options;
    if (this.#refused.has(chain.account_id)) return 0;
    let rows = 0;
    try {
      while (!signal.aborted) {
        const sealed = await database.transaction((tx) => sealRows(tx, signingKey, chain.account_id));
        if (sealed === undefined) {
          this.#alarm(chain, 'another node holds the lock of the chain');
          break;
        }
        if (sealed.head !== undefined) this.#logHead(sealed.head);
        metrics.auditSealed.inc(sealed.rows);
        rows += sealed.rows;
        if (sealed.rows < MAX_ROWS) break;
      }
    } catch (error) {
      this.#refused.set(chain.account_id, true);
      if (!signal.aborted) this.#alarm(chain, (error as Error).message);
    }
    return rows;
  }

  #alarm({ account_id, seconds }: PendingChain, reason: string): void {
    if (seconds === null || seconds < ALARMING_S || this.#alarmed.has(account_id)) return;
    this.#alarmed.set(account_id, true);
    this.#options.log.error({ account_id, seconds, reason }, 'rows of the audit are not sealed');
  }

  /**
   * Logs a head: logs are often kept apart from the database, and then prove that history was not
   * rewritten.
   */
  #logHead(head: Signed<AuditHead>): void {
    if (this.#logged.has(head.account_id)) return;
    this.#logged.set(head.account_id, true);
    this.#options.log.info({ account_id: head.account_id, audit_head: head }, 'head of the audit');
  }
}

const MAX_CHAINS = 100;
const MAX_ROWS = 500;
const ALARMING_S = 10;
const RETRY_REFUSED_MS = 2_000;
const ALARM_EVERY_MS = 60_000;
const LOG_HEAD_EVERY_MS = 86_400_000;

export interface Sealed {
  readonly rows: number;
  /** Undefined if there was nothing to seal. */
  readonly head: Signed<AuditHead> | undefined;
}

/**
 * Seals up to `limit` committed rows of an account, in the order of insertion; rows that are not
 * committed yet follow later. Returns undefined if another node is sealing the account. Rejects if
 * this deployment has not signed the head: tampered data must not be signed again.
 */
export async function sealRows(
  tx: Tx,
  signingKey: SigningKey,
  accountId: string,
  limit = MAX_ROWS,
): Promise<Sealed | undefined> {
  const chain = await lockChain(tx, accountId, { wait: false });
  if (chain === undefined) return undefined;
  requireOwnHead(chain.head, accountId, signingKey.trusted);
  // A separate statement after the lock: it sees what the previous node has sealed.
  const rows = await tx.query(READ_UNSEALED, accountId, limit);
  if (rows.length === 0) return { rows: 0, head: undefined };
  const seals = sealsOf(accountId, chain, rows);
  const saved = await tx.query(
    SAVE_SEALS,
    chain.now,
    seals.map(({ id }) => id),
    seals.map(({ number }) => number),
    seals.map(({ salt }) => salt),
    seals.map(({ detailsHash }) => detailsHash),
    seals.map(({ hash }) => hash),
  );
  if (saved.length !== seals.length) throw new Error('rows of the audit vanished while they were sealed');
  const { number, hash } = seals.at(-1)!;
  const head = signingKey.sign({
    object: 'audit_head',
    account_id: accountId,
    number,
    hash,
    signed_at: chain.now,
  } as const);
  await saveHead(tx, accountId, head);
  return { rows: rows.length, head };
}

/** Throws unless the head is null or was signed by a trusted key for this account. */
export function requireOwnHead(
  head: Signed<AuditHead> | null,
  accountId: string,
  trusted: TrustedKeys,
): void {
  if (head === null) return;
  const verdict = trusted.verify(head);
  if (verdict === 'unknown_key') {
    throw new Error(
      `the head of the audit is signed by the key ${head.key_id}, which this node does not know: set PARLEY_AUDIT_KEY to the same key on every node, or, if that key was replaced, add its public key ${head.public_key} to PARLEY_AUDIT_OLD_KEYS`,
    );
  }
  const { object, account_id } = head;
  if (verdict === 'invalid' || object !== 'audit_head' || account_id !== accountId) {
    throw new Error(
      'the head of the audit is not the one that was signed: verify an export, and see the backups',
    );
  }
}

/** Returns the place of each row in the chain, and its hashed content. */
function sealsOf(accountId: string, { head, now }: ChainEnd, rows: readonly UnsealedRow[]) {
  let previous = head?.hash ?? GENESIS;
  const before = head?.number ?? 0;
  return rows.map(({ details, ...row }, index) => {
    const number = before + index + 1;
    const salt = randomBytes(32);
    const detailsHash = hashDetails(salt, details);
    previous = hashLink(previous, accountId, { ...row, number, sealed_at: now, details_hash: detailsHash });
    return { id: row.id, number, salt, detailsHash, hash: previous };
  });
}

const READ_UNSEALED = statement<[accountId: string, limit: number], UnsealedRow>('audit-read-unsealed')`
    SELECT id, conversation_id, actor_id, action, details, created_at FROM audit_events
    WHERE account_id = $1 AND number IS NULL
    ORDER BY position NULLS FIRST, created_at, id LIMIT $2`;

const SAVE_SEALS = statement<
  [
    sealedAt: string,
    ids: readonly string[],
    numbers: readonly number[],
    salts: readonly Buffer[],
    detailsHashes: readonly string[],
    hashes: readonly string[],
  ]
>('audit-save-seals')`
    UPDATE audit_events e SET sealed_at = $1::timestamptz, number = s.number, salt = s.salt,
      details_hash = decode(s.details_hash, 'hex'), hash = decode(s.hash, 'hex')
    FROM unnest($2::text[], $3::bigint[], $4::bytea[], $5::text[], $6::text[])
      AS s(id, number, salt, details_hash, hash)
    WHERE e.id = s.id AND e.number IS NULL
    RETURNING e.id`;
