import type { Selectable } from 'kysely';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Querier, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import {
  type AuditCheckpoint,
  type AuditErasure,
  type AuditHandover,
  type AuditHead,
  type AuditLink,
  HANDED_OVER,
  LINK_FIELDS,
} from './chain.ts';
import type { Signed } from './signing-key.ts';

export type UnsealedRow = Pick<
  Selectable<Schema['audit_events']>,
  'id' | 'conversation_id' | 'actor_id' | 'action' | 'details' | 'created_at'
>;

export interface SealedRow extends UnsealedRow {
  readonly number: number;
  readonly sealed_at: string;
  readonly salt: Buffer | null;
  readonly details_hash: Buffer;
  readonly hash: Buffer;
  readonly erasure: Signed<AuditErasure> | null;
}

export interface PendingChain {
  readonly account_id: string;
  /** Age of the oldest pending row; null for rows from before the chain, which are never late. */
  readonly seconds: number | null;
}

/** Returns up to `limit` accounts that follow `after`, in the order of their ids. */
export function readPendingChains(db: Querier, after: string, limit: number): Promise<PendingChain[]> {
  return db.query(READ_PENDING, after, limit);
}

export interface ChainEnd {
  /** As stored: its signature is not checked. Null if nothing is sealed yet. */
  readonly head: Signed<AuditHead> | null;
  /** The time by Postgres' clock. */
  readonly now: string;
}

/**
 * Locks the chain: no other node seals, purges or erases in it until the transaction ends. With
 * `wait` false, returns undefined at once if another node has the lock.
 */
export async function lockChain(
  tx: Tx,
  accountId: string,
  { wait }: { readonly wait: boolean },
): Promise<ChainEnd | undefined> {
  const lock = wait ? LOCK_CHAIN : TRY_CHAIN;
  const [found] = await tx.query(lock, accountId);
  if (found !== undefined) return found;
  // If another node has the lock, an insert would wait for it.
  if (!wait && (await tx.query(FIND_CHAIN, accountId)).length > 0) return undefined;
  await tx.query(CREATE_CHAIN, accountId);
  const [created] = await tx.query(lock, accountId);
  return created;
}

/** Returns the end of the chain without a lock. */
export async function readHead(db: Querier, accountId: string): Promise<ChainEnd> {
  const [row] = await db.query(READ_HEAD, accountId);
  return row!;
}

/** Replaces the head. The caller holds the lock of the chain. */
export async function saveHead(tx: Tx, accountId: string, head: Signed<AuditHead>): Promise<void> {
  await tx.query(SAVE_HEAD, accountId, head);
}

/** Returns the links after the number `after`, in the order of the chain. */
export async function readLinks(
  db: Querier,
  accountId: string,
  after: number,
  limit: number,
): Promise<AuditLink[]> {
  return (await db.query(READ_LINKS, accountId, after, limit)).map(toLink);
}

/** Returns the checkpoints in the order of the chain. */
export async function readCheckpoints(
  db: Querier,
  accountId: string,
): Promise<readonly Signed<AuditCheckpoint>[]> {
  const rows = await db.query(READ_CHECKPOINTS, accountId);
  return rows.map(({ checkpoint }) => checkpoint);
}

/**
 * Returns the hand-overs as stored, in the order of the chain: their signatures are not checked.
 */
export async function readHandovers(db: Querier, accountId: string): Promise<readonly AuditHandover[]> {
  const rows = await db.query(READ_HANDOVERS, accountId);
  return rows.map(({ handover }) => handover);
}

/** Returns the age of the oldest link that may be purged, in seconds, or null if there is none. */
export async function readAuditAge(db: Querier, accountId: string): Promise<number | null> {
  const [row] = await db.query(READ_AGE, accountId);
  return row?.age ?? null;
}

export function toLink({ salt, details_hash, hash, ...row }: SealedRow): AuditLink {
  return {
    object: 'audit_link',
    ...row,
    salt: salt === null ? null : salt.toString('base64url'),
    details_hash: details_hash.toString('hex'),
    hash: hash.toString('hex'),
  };
}

/** SQL: whether `readPendingChains` would find any chain. */
export const HAS_UNSEALED = 'EXISTS (SELECT FROM audit_events WHERE number IS NULL)';

// One step for each account, since the table may be long.
const READ_PENDING = statement<[after: string, limit: number], PendingChain>('audit-read-pending')`
    WITH RECURSIVE pending AS (
      (SELECT account_id, position, created_at FROM audit_events
        WHERE number IS NULL AND account_id > $1
        ORDER BY account_id, position NULLS FIRST, created_at, id LIMIT 1)
      UNION ALL
      SELECT following.* FROM pending, LATERAL (
        SELECT account_id, position, created_at FROM audit_events
        WHERE number IS NULL AND account_id > pending.account_id
        ORDER BY account_id, position NULLS FIRST, created_at, id LIMIT 1
      ) AS following
    )
    SELECT account_id, CASE WHEN position IS NOT NULL THEN
        extract(epoch FROM clock_timestamp() - created_at)::float8
      END AS seconds
    FROM pending LIMIT $2`;

const LOCK_CHAIN = statement<[accountId: string], ChainEnd>('audit-lock-chain')`
    SELECT head, clock_timestamp() AS now FROM audit_chains WHERE account_id = $1 FOR UPDATE`;

const TRY_CHAIN = statement<[accountId: string], ChainEnd>('audit-try-chain')`
    ${LOCK_CHAIN.text} SKIP LOCKED`;

const FIND_CHAIN = statement<[accountId: string]>('audit-find-chain')`
    SELECT FROM audit_chains WHERE account_id = $1`;

const CREATE_CHAIN = statement<[accountId: string]>('audit-create-chain')`
    INSERT INTO audit_chains (account_id) VALUES ($1) ON CONFLICT DO NOTHING`;

const READ_HEAD = statement<[accountId: string], ChainEnd>('audit-read-head')`
    SELECT (SELECT head FROM audit_chains WHERE account_id = $1) AS head, clock_timestamp() AS now`;

const SAVE_HEAD = statement<[accountId: string, head: object]>('audit-save-head')`
    UPDATE audit_chains SET head = $2::jsonb WHERE account_id = $1`;

export const LINK_COLUMNS = LINK_FIELDS.map((column) => `e.${column}`).join(', ');

const READ_LINKS = statement<[accountId: string, after: number, limit: number], SealedRow>(
  'audit-read-links',
)`
    SELECT ${LINK_COLUMNS} FROM audit_events e WHERE e.account_id = $1 AND e.number > $2
    ORDER BY e.number LIMIT $3`;

const READ_CHECKPOINTS = statement<[accountId: string], { checkpoint: Signed<AuditCheckpoint> }>(
  'audit-read-checkpoints',
)`
    SELECT checkpoint FROM audit_checkpoints WHERE account_id = $1 ORDER BY last`;

const READ_HANDOVERS = statement<[accountId: string], { handover: AuditHandover }>('audit-read-handovers')`
    SELECT handover FROM audit_handovers WHERE account_id = $1 ORDER BY number`;

/**
 * SQL: the events that may be purged. The event of a hand-over stays, so that its hand-over does.
 */
export const MAY_BE_PURGED = `e.action <> '${HANDED_OVER}'`;

const READ_AGE = statement<[accountId: string], { age: number }>('audit-read-age')`
    SELECT extract(epoch FROM clock_timestamp() - e.created_at)::float8 AS age FROM audit_events e
    WHERE e.account_id = $1 AND e.number IS NOT NULL AND ${MAY_BE_PURGED} AND NOT EXISTS (
      SELECT FROM conversations c WHERE c.id = e.conversation_id AND c.legal_hold = 'held')
    ORDER BY e.created_at LIMIT 1`;

/**
 * Passes the chain of an account to `write`, one JSON object a line, as `verifyExport` reads it: a
 * header, the hand-overs, the checkpoints and links in the order of the chain, the head. Unsealed
 * rows are left out.
 */
export function exportAudit(
  database: Database,
  accountId: string,
  write: (line: object) => Promise<void>,
): Promise<void> {
  return database.transaction(async (tx) => {
    // One snapshot: rows that are purged meanwhile are either links or in a checkpoint.
    await tx.query(READ_AS_OF_NOW);
    const { head, now } = await readHead(tx, accountId);
    await write({ object: 'audit_export', account_id: accountId, exported_at: now });
    // A reader needs the hand-overs first: they name the keys that sign the rest.
    for (const handover of await readHandovers(tx, accountId)) await write(handover);
    const checkpoints = [...(await readCheckpoints(tx, accountId))];
    for (let number = 0; ; ) {
      const links = await readLinks(tx, accountId, number, PAGE);
      for (const link of links) {
        while (checkpoints[0] !== undefined && checkpoints[0].last < link.number) {
          await write(checkpoints.shift()!);
        }
        await write(link);
        number = link.number;
      }
      if (links.length < PAGE) break;
    }
    for (const checkpoint of checkpoints) await write(checkpoint);
    if (head !== null) await write(head);
  });
}

const PAGE = 1_000;

const READ_AS_OF_NOW = statement('audit-read-as-of-now')`
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`;
