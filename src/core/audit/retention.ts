import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { countOf } from '../resources/holdings.ts';
import { type AuditCheckpoint, type AuditErasure, type AuditLink, GENESIS, hashLink } from './chain.ts';
import { ChainKeys } from './chain-keys.ts';
import {
  LINK_COLUMNS,
  lockChain,
  MAY_BE_PURGED,
  readHandovers,
  readLinks,
  type SealedRow,
  toLink,
} from './chain-store.ts';
import { requireOwnHead } from './sealer.ts';
import type { Signed, SigningKey } from './signing-key.ts';

/**
 * Deletes up to `limit` of the oldest sealed events of an account (docs/contract.md#audit) that are
 * older than `days` by Postgres' clock, except hand-overs and what is under legal hold. A signed
 * checkpoint replaces each run of links, so that the rest verifies. Returns how many events were
 * deleted: fewer than `limit` if there are no more. Waits for the lock of the chain. Rejects if an
 * event was tampered with: a checkpoint would hide it.
 */
export async function purgeAudit(
  tx: Tx,
  signingKey: SigningKey,
  { accountId, days, limit }: { readonly accountId: string; readonly days: number; readonly limit: number },
): Promise<number> {
  const chain = await lockChain(tx, accountId, { wait: true });
  if (chain === undefined || chain.head === null) return 0;
  requireOwnHead(chain.head, accountId, signingKey.trusted);
  const keys = new ChainKeys(signingKey.trusted, accountId, await readHandovers(tx, accountId));
  const rows = await tx.query(DELETE_LINKS, accountId, days, limit);
  const links = rows.map(toLink).sort((a, b) => a.number - b.number);
  for (const run of runsOf(links)) {
    const first = run[0]!.number;
    const last = run.at(-1)!.number;
    // Checkpoints next to this run become part of its checkpoint.
    const adjacent = await takeOwnCheckpoints(tx, keys, accountId, first - 1, last + 1);
    const earlier = adjacent.find((checkpoint) => checkpoint.last === first - 1);
    const later = adjacent.find((checkpoint) => checkpoint.first === last + 1);
    requireOwnLinks(run, accountId, earlier?.hash ?? (await hashOf(tx, accountId, first - 1)));
    const checkpoint = signingKey.sign({
      object: 'audit_checkpoint',
      account_id: accountId,
      first: earlier?.first ?? first,
      last: later?.last ?? last,
      hash: later?.hash ?? run.at(-1)!.hash,
      signed_at: chain.now,
    } as const);
    await tx.query(SAVE_CHECKPOINT, accountId, checkpoint.last, checkpoint);
  }
  return links.length;
}

/**
 * Erases the details and salts of events, except under legal hold. The chain verifies without them,
 * and a signed note in each event states that the service erased them. Returns the number of erased
 * events. Holds the lock of the chain until the transaction ends, so it is called last.
 */
export async function blankDetails(
  tx: Tx,
  signingKey: SigningKey,
  accountId: string,
  events: ErasedEvents,
): Promise<number> {
  const chain = await lockChain(tx, accountId, { wait: true });
  if (chain === undefined) return 0;
  const { conversationId = null, actorId = null, eventIds = null } = events;
  const filters = [conversationId, actorId, eventIds] as const;
  for (let erased = 0; ; ) {
    const found = await tx.query(READ_ERASABLE, accountId, ...filters, ERASE_BATCH);
    const erasures = found.map(({ number }) => {
      if (number === null) return null;
      const note = { object: 'audit_erasure', account_id: accountId, number, signed_at: chain.now } as const;
      return JSON.stringify(signingKey.sign<AuditErasure>(note));
    });
    const ids = found.map(({ id }) => id);
    if (ids.length > 0) await tx.query(ERASE, ids, erasures);
    erased += ids.length;
    if (ids.length < ERASE_BATCH) return erased;
  }
}

const ERASE_BATCH = 1_000;

/**
 * Deletes and returns the checkpoints that end or begin with these numbers. Throws if one has no
 * signature by this deployment or an earlier holder of the account: it must not be signed again.
 */
async function takeOwnCheckpoints(
  tx: Tx,
  keys: ChainKeys,
  accountId: string,
  last: number,
  first: number,
): Promise<Signed<AuditCheckpoint>[]> {
  const rows = await tx.query(TAKE_CHECKPOINTS, accountId, last, first);
  return rows.map(({ checkpoint }) => {
    const { object, account_id } = checkpoint;
    const isOwn = object === 'audit_checkpoint' && account_id === accountId;
    if (isOwn && keys.verify(checkpoint, checkpoint.last) === 'valid') return checkpoint;
    throw new Error('a checkpoint of the audit is not one that a known key has signed');
  });
}

async function hashOf(tx: Tx, accountId: string, number: number): Promise<string> {
  if (number === 0) return GENESIS;
  const [link] = await readLinks(tx, accountId, number - 1, 1);
  if (link?.number === number) return link.hash;
  throw new Error(`link ${number} of the audit is missing: nothing is purged behind it`);
}

function requireOwnLinks(run: readonly AuditLink[], accountId: string, before: string): void {
  let previous = before;
  for (const link of run) {
    if (hashLink(previous, accountId, link) !== link.hash) {
      throw new Error(`link ${link.number} of the audit was changed: it is not purged`);
    }
    previous = link.hash;
  }
}

/** Splits the links into runs of consecutive numbers. */
function runsOf(links: readonly AuditLink[]): AuditLink[][] {
  const runs: AuditLink[][] = [];
  for (const link of links) {
    const run = runs.at(-1);
    if (run?.at(-1)?.number === link.number - 1) run.push(link);
    else runs.push([link]);
  }
  return runs;
}

const SAVE_CHECKPOINT = statement<[accountId: string, last: number, checkpoint: object]>(
  'audit-save-checkpoint',
)`
    INSERT INTO audit_checkpoints (account_id, last, checkpoint) VALUES ($1, $2, $3::jsonb)`;

const TAKE_CHECKPOINTS = statement<
  [accountId: string, last: number, first: number],
  { checkpoint: Signed<AuditCheckpoint> }
>('audit-take-checkpoints')`
    DELETE FROM audit_checkpoints
    WHERE account_id = $1 AND (last = $2 OR (checkpoint->>'first')::bigint = $3) RETURNING checkpoint`;

// The conversations are locked against a hold, here and below: a concurrent hold either comes first
// or finds nothing.
const READ_ERASABLE = statement<
  [
    accountId: string,
    conversationId: string | null,
    actorId: string | null,
    eventIds: readonly string[] | null,
    limit: number,
  ],
  { id: string; number: number | null }
>('audit-read-erasable')`
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
      SELECT FROM locked WHERE locked.id = candidates.conversation_id AND locked.legal_hold = 'held')`;

const ERASE = statement<[ids: readonly string[], erasures: readonly (string | null)[]]>(
  'audit-erase-details',
)`
    UPDATE audit_events e SET details = '{}', salt = NULL, erasure = g.erasure::jsonb
    FROM unnest($1::text[], $2::text[]) AS g(id, erasure) WHERE e.id = g.id`;

/** SQL: up to $3 sealed events of the account that are older than $2 days and not held. */
const OLD = `SELECT e.id, e.conversation_id FROM audit_events e
      WHERE e.account_id = $1 AND e.number IS NOT NULL AND e.created_at < statement_timestamp() - $2::integer * interval '1 day'
        AND ${MAY_BE_PURGED} AND NOT EXISTS (
          SELECT FROM conversations c WHERE c.id = e.conversation_id AND c.legal_hold = 'held')
      ORDER BY e.created_at LIMIT $3`;

/** Counts up to `limit` events that `purgeAudit` would delete. */
export const countOldEvents = countOf('audit-count-old', OLD);

const DELETE_LINKS = statement<[accountId: string, days: number, limit: number], SealedRow>(
  'audit-delete-links',
)`
    WITH candidates AS (
      ${OLD}
    ), locked AS (
      SELECT c.id, c.legal_hold FROM conversations c
      WHERE c.id IN (SELECT conversation_id FROM candidates) ORDER BY c.id FOR SHARE
    )
    DELETE FROM audit_events e USING candidates
    WHERE e.id = candidates.id AND NOT EXISTS (
      SELECT FROM locked WHERE locked.id = e.conversation_id AND locked.legal_hold = 'held')
    RETURNING ${LINK_COLUMNS}`;

/** Selects the events whose details are erased; an absent field does not narrow. */
export interface ErasedEvents {
  readonly conversationId?: string;
  readonly actorId?: string;
  readonly eventIds?: readonly string[];
}
