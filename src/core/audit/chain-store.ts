import type { Database } from '../../platform/db/connection/database.ts';
import type { Querier, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { AuditCheckpoint, AuditErasure, AuditHead, AuditLink } from './chain.ts';
import type { Signed } from './signing-key.ts';

/** A row that is not in the chain yet. */
export interface UnsealedRow {
  readonly id: string;
  readonly conversation_id: string | null;
  readonly actor_id: string | null;
  readonly action: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly created_at: string;
}

/** Its place in the chain, and what was hashed for it. */
export interface Seal {
  readonly id: string;
  readonly number: number;
  readonly salt: Buffer;
  readonly detailsHash: string;
  readonly hash: string;
}

interface SealedRow extends UnsealedRow {
  readonly number: number;
  readonly sealed_at: string;
  readonly salt: Buffer | null;
  readonly details_hash: Buffer;
  readonly hash: Buffer;
  readonly erasure: Signed<AuditErasure> | null;
}

/** An account with rows that are not sealed. */
export interface PendingChain {
  readonly account_id: string;
  /** The age of the first of them; null for rows from before the chain, which are not late. */
  readonly seconds: number | null;
}

/** Returns `limit` accounts at most, in the order of their ids, that follow `after`. */
export function readPendingChains(db: Querier, after: string, limit: number): Promise<PendingChain[]> {
  return db.query(READ_PENDING, after, limit);
}

export interface ChainEnd {
  /** Null: nothing is sealed yet. As the row has it: its signature is not checked. */
  readonly head: Signed<AuditHead> | null;
  /** By Postgres' clock. */
  readonly now: string;
}

/**
 * Locks the chain, so that no other node seals, purges or erases in it until the transaction ends.
 * `wait` false: returns undefined at once if another one has the lock.
 */
export async function lockChain(
  tx: Tx,
  accountId: string,
  { wait }: { readonly wait: boolean },
): Promise<ChainEnd | undefined> {
  const lock = wait ? LOCK_CHAIN : TRY_CHAIN;
  const [found] = await tx.query(lock, accountId);
  if (found !== undefined) return found;
  // Where another one has the lock, an insert would wait for it.
  if (!wait && (await tx.query(FIND_CHAIN, accountId)).length > 0) return undefined;
  await tx.query(CREATE_CHAIN, accountId);
  const [created] = await tx.query(lock, accountId);
  return created;
}

/** The same without the lock. */
export async function readHead(db: Querier, accountId: string): Promise<ChainEnd> {
  const [row] = await db.query(READ_HEAD, accountId);
  return row!;
}

export async function saveHead(tx: Tx, head: Signed<AuditHead>): Promise<void> {
  await tx.query(SAVE_HEAD, head.account_id, head);
}

/**
 * Returns the first `limit` rows of the account that are not sealed, in the order in which they
 * were inserted.
 */
export function readUnsealed(tx: Tx, accountId: string, limit: number): Promise<UnsealedRow[]> {
  return tx.query(READ_UNSEALED, accountId, limit);
}

/** Rejects if one of the rows is not there any more. */
export async function saveSeals(tx: Tx, sealedAt: string, seals: readonly Seal[]): Promise<void> {
  const saved = await tx.query(
    SAVE_SEALS,
    sealedAt,
    seals.map(({ id }) => id),
    seals.map(({ number }) => number),
    seals.map(({ salt }) => salt),
    seals.map(({ detailsHash }) => detailsHash),
    seals.map(({ hash }) => hash),
  );
  if (saved.length !== seals.length) throw new Error('rows of the audit vanished while they were sealed');
}

/** Returns the links behind the number `after`, in the order of the chain. */
export async function readLinks(
  db: Querier,
  accountId: string,
  after: number,
  limit: number,
): Promise<AuditLink[]> {
  return (await db.query(READ_LINKS, accountId, after, limit)).map(toLink);
}

/** In the order of the chain. */
export async function readCheckpoints(
  db: Querier,
  accountId: string,
): Promise<readonly Signed<AuditCheckpoint>[]> {
  const rows = await db.query(READ_CHECKPOINTS, accountId);
  return rows.map(({ checkpoint }) => checkpoint);
}

export async function saveCheckpoint(tx: Tx, checkpoint: Signed<AuditCheckpoint>): Promise<void> {
  await tx.query(SAVE_CHECKPOINT, checkpoint.account_id, checkpoint.last, checkpoint);
}

/** Deletes the checkpoint that ends with this number, or begins with it, and returns it. */
export async function takeCheckpoint(
  tx: Tx,
  accountId: string,
  edge: { readonly last: number } | { readonly first: number },
): Promise<Signed<AuditCheckpoint> | undefined> {
  const [row] =
    'last' in edge
      ? await tx.query(TAKE_CHECKPOINT_BEFORE, accountId, edge.last)
      : await tx.query(TAKE_CHECKPOINT_AFTER, accountId, edge.first);
  return row?.checkpoint;
}

/**
 * Deletes the oldest `limit` links that are more than `days` old, but for those of conversations
 * under legal hold, and returns them in the order of the chain. Their conversations are locked, so
 * that a hold that is set at the same time either comes first or finds nothing.
 */
export async function deleteLinks(
  tx: Tx,
  accountId: string,
  days: number,
  limit: number,
): Promise<AuditLink[]> {
  const rows = await tx.query(DELETE_LINKS, accountId, days, limit);
  return rows.map(toLink).sort((a, b) => a.number - b.number);
}

/**
 * Returns how old the oldest link is that is not of a conversation under legal hold, in seconds;
 * null if there is none.
 */
export async function readAuditAge(db: Querier, accountId: string): Promise<number | null> {
  const [row] = await db.query(READ_AGE, accountId);
  return row?.age ?? null;
}

/** Which events' details are erased; what is absent does not narrow. */
export interface ErasedEvents {
  readonly conversationId?: string;
  /** The actor that acted. */
  readonly actorId?: string;
  readonly eventIds?: readonly string[];
}

/**
 * Returns up to `limit` events that have details, but for those of conversations under legal hold,
 * which are locked against it. `number` is null where the event is not sealed.
 */
export function readErasable(
  tx: Tx,
  accountId: string,
  { conversationId, actorId, eventIds }: ErasedEvents,
  limit: number,
): Promise<{ readonly id: string; readonly number: number | null }[]> {
  const filters = [conversationId ?? null, actorId ?? null, eventIds ?? null] as const;
  return tx.query(READ_ERASABLE, accountId, ...filters, limit);
}

/** `erasures`: null where the event is not sealed. */
export async function eraseDetails(
  tx: Tx,
  ids: readonly string[],
  erasures: readonly (Signed<AuditErasure> | null)[],
): Promise<void> {
  await tx.query(
    ERASE,
    ids,
    erasures.map((erasure) => erasure && JSON.stringify(erasure)),
  );
}

function toLink({ salt, details_hash, hash, ...row }: SealedRow): AuditLink {
  return {
    object: 'audit_link',
    ...row,
    salt: salt === null ? null : salt.toString('base64url'),
    details_hash: details_hash.toString('hex'),
    hash: hash.toString('hex'),
  };
}

// One step for each account, since the table of all others may be long.
/** SQL: whether `readPendingChains` would find any. */
export const HAS_UNSEALED = 'EXISTS (SELECT FROM audit_events WHERE number IS NULL)';

const READ_PENDING = statement<[after: string, limit: number], PendingChain>({
  name: 'audit-read-pending',
  text: `
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
    FROM pending LIMIT $2`,
});

const LOCK_CHAIN = statement<[accountId: string], ChainEnd>({
  name: 'audit-lock-chain',
  text: 'SELECT head, clock_timestamp() AS now FROM audit_chains WHERE account_id = $1 FOR UPDATE',
});

const TRY_CHAIN = statement<[accountId: string], ChainEnd>({
  name: 'audit-try-chain',
  text: `SELECT head, clock_timestamp() AS now FROM audit_chains WHERE account_id = $1
    FOR UPDATE SKIP LOCKED`,
});

const FIND_CHAIN = statement<[accountId: string]>({
  name: 'audit-find-chain',
  text: 'SELECT FROM audit_chains WHERE account_id = $1',
});

const CREATE_CHAIN = statement<[accountId: string]>({
  name: 'audit-create-chain',
  text: 'INSERT INTO audit_chains (account_id) VALUES ($1) ON CONFLICT DO NOTHING',
});

const READ_HEAD = statement<[accountId: string], ChainEnd>({
  name: 'audit-read-head',
  text: 'SELECT (SELECT head FROM audit_chains WHERE account_id = $1) AS head, clock_timestamp() AS now',
});

const SAVE_HEAD = statement<[accountId: string, head: object]>({
  name: 'audit-save-head',
  text: 'UPDATE audit_chains SET head = $2::jsonb WHERE account_id = $1',
});

const READ_UNSEALED = statement<[accountId: string, limit: number], UnsealedRow>({
  name: 'audit-read-unsealed',
  text: `
    SELECT id, conversation_id, actor_id, action, details, created_at FROM audit_events
    WHERE account_id = $1 AND number IS NULL
    ORDER BY position NULLS FIRST, created_at, id LIMIT $2`,
});

const SAVE_SEALS = statement<
  [
    sealedAt: string,
    ids: readonly string[],
    numbers: readonly number[],
    salts: readonly Buffer[],
    detailsHashes: readonly string[],
    hashes: readonly string[],
  ]
>({
  name: 'audit-save-seals',
  text: `
    UPDATE audit_events e SET sealed_at = $1::timestamptz, number = s.number, salt = s.salt,
      details_hash = decode(s.details_hash, 'hex'), hash = decode(s.hash, 'hex')
    FROM unnest($2::text[], $3::bigint[], $4::bytea[], $5::text[], $6::text[])
      AS s(id, number, salt, details_hash, hash)
    WHERE e.id = s.id AND e.number IS NULL
    RETURNING e.id`,
});

const COLUMNS = ['id', 'conversation_id', 'actor_id', 'action', 'details', 'created_at']
  .concat(['number', 'sealed_at', 'salt', 'details_hash', 'hash', 'erasure'])
  .map((column) => `e.${column}`)
  .join(', ');

const READ_LINKS = statement<[accountId: string, after: number, limit: number], SealedRow>({
  name: 'audit-read-links',
  text: `SELECT ${COLUMNS} FROM audit_events e WHERE e.account_id = $1 AND e.number > $2
    ORDER BY e.number LIMIT $3`,
});

const READ_CHECKPOINTS = statement<[accountId: string], { checkpoint: Signed<AuditCheckpoint> }>({
  name: 'audit-read-checkpoints',
  text: 'SELECT checkpoint FROM audit_checkpoints WHERE account_id = $1 ORDER BY last',
});

const SAVE_CHECKPOINT = statement<[accountId: string, last: number, checkpoint: object]>({
  name: 'audit-save-checkpoint',
  text: 'INSERT INTO audit_checkpoints (account_id, last, checkpoint) VALUES ($1, $2, $3::jsonb)',
});

const TAKE_CHECKPOINT_BEFORE = statement<
  [accountId: string, last: number],
  { checkpoint: Signed<AuditCheckpoint> }
>({
  name: 'audit-take-checkpoint-before',
  text: 'DELETE FROM audit_checkpoints WHERE account_id = $1 AND last = $2 RETURNING checkpoint',
});

const TAKE_CHECKPOINT_AFTER = statement<
  [accountId: string, first: number],
  { checkpoint: Signed<AuditCheckpoint> }
>({
  name: 'audit-take-checkpoint-after',
  text: `
    DELETE FROM audit_checkpoints WHERE account_id = $1 AND (checkpoint->>'first')::bigint = $2
    RETURNING checkpoint`,
});

const READ_AGE = statement<[accountId: string], { age: number }>({
  name: 'audit-read-age',
  text: `
    SELECT extract(epoch FROM clock_timestamp() - e.created_at)::float8 AS age FROM audit_events e
    WHERE e.account_id = $1 AND e.number IS NOT NULL AND NOT EXISTS (
      SELECT FROM conversations c WHERE c.id = e.conversation_id AND c.legal_hold = 'held')
    ORDER BY e.created_at LIMIT 1`,
});

const READ_ERASABLE = statement<
  [
    accountId: string,
    conversationId: string | null,
    actorId: string | null,
    eventIds: readonly string[] | null,
    limit: number,
  ],
  { id: string; number: number | null }
>({
  name: 'audit-read-erasable',
  text: `
    WITH candidates AS (
      SELECT e.id, e.number, e.conversation_id FROM audit_events e
      WHERE e.account_id = $1 AND e.details <> '{}' AND ($2::text IS NULL OR e.conversation_id = $2)
        AND ($3::text IS NULL OR e.actor_id = $3) AND ($4::text[] IS NULL OR e.id = ANY($4))
        AND NOT EXISTS (
          SELECT FROM conversations c WHERE c.id = e.conversation_id AND c.legal_hold = 'held')
      LIMIT $5
    ), locked AS (
      SELECT c.id, c.legal_hold FROM conversations c
      WHERE c.id IN (SELECT conversation_id FROM candidates) ORDER BY c.id FOR SHARE
    )
    SELECT candidates.id, candidates.number FROM candidates WHERE NOT EXISTS (
      SELECT FROM locked WHERE locked.id = candidates.conversation_id AND locked.legal_hold = 'held')`,
});

const ERASE = statement<[ids: readonly string[], erasures: readonly (string | null)[]]>({
  name: 'audit-erase-details',
  text: `
    UPDATE audit_events e SET details = '{}', salt = NULL, erasure = g.erasure::jsonb
    FROM unnest($1::text[], $2::text[]) AS g(id, erasure) WHERE e.id = g.id`,
});

const DELETE_LINKS = statement<[accountId: string, days: number, limit: number], SealedRow>({
  name: 'audit-delete-links',
  text: `
    WITH candidates AS (
      SELECT e.id, e.conversation_id FROM audit_events e
      WHERE e.account_id = $1 AND e.number IS NOT NULL AND e.created_at < statement_timestamp() - $2::integer * interval '1 day'
        AND NOT EXISTS (
          SELECT FROM conversations c WHERE c.id = e.conversation_id AND c.legal_hold = 'held')
      ORDER BY e.created_at LIMIT $3
    ), locked AS (
      SELECT c.id, c.legal_hold FROM conversations c
      WHERE c.id IN (SELECT conversation_id FROM candidates) ORDER BY c.id FOR SHARE
    )
    DELETE FROM audit_events e USING candidates
    WHERE e.id = candidates.id AND NOT EXISTS (
      SELECT FROM locked WHERE locked.id = e.conversation_id AND locked.legal_hold = 'held')
    RETURNING ${COLUMNS}`,
});

/**
 * Passes the chain of an account to `write`, one JSON object for each line of the file that
 * `verifyExport` reads: what it is, the checkpoints and links in the order of the chain, the head.
 * Rows that are not sealed yet are not in it.
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

const READ_AS_OF_NOW = statement({
  name: 'audit-read-as-of-now',
  text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
});
