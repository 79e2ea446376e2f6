import type { Tx } from '../../platform/db/connection/handle.ts';
import { type AuditCheckpoint, type AuditLink, GENESIS, hashLink } from './chain.ts';
import {
  deleteLinks,
  type ErasedEvents,
  eraseDetails,
  lockChain,
  readErasable,
  readLinks,
  saveCheckpoint,
  takeCheckpoint,
} from './chain-store.ts';
import { requireOwnHead } from './sealer.ts';
import type { Signed, SigningKey } from './signing-key.ts';

export interface AuditPurge {
  readonly accountId: string;
  /** Events that are older, by Postgres' clock. */
  readonly days: number;
  /** Most events to delete in this transaction. */
  readonly limit: number;
}

/**
 * Deletes the oldest sealed events of an account (docs/contract.md#audit), but for those of
 * conversations under legal hold. A signed checkpoint takes the place of each run of links, so that
 * the rest verifies. Returns how many events were deleted: with fewer than `limit` there are no
 * more. Waits for the lock of the chain. Rejects if an event was tampered with: a checkpoint would
 * hide it.
 */
export async function purgeAudit(
  tx: Tx,
  signingKey: SigningKey,
  { accountId, days, limit }: AuditPurge,
): Promise<number> {
  const chain = await lockChain(tx, accountId, { wait: true });
  if (chain === undefined || chain.head === null) return 0;
  requireOwnHead(chain.head, accountId, signingKey.trusted);
  const links = await deleteLinks(tx, accountId, days, limit);
  for (const run of runsOf(links)) {
    const first = run[0]!.number;
    const last = run.at(-1)!.number;
    // Checkpoints that reach to this run become a part of its own.
    const earlier = await takeOwnCheckpoint(tx, signingKey, accountId, { last: first - 1 });
    const later = await takeOwnCheckpoint(tx, signingKey, accountId, { first: last + 1 });
    requireOwnLinks(run, accountId, earlier?.hash ?? (await hashOf(tx, accountId, first - 1)));
    const checkpoint = signingKey.sign({
      object: 'audit_checkpoint',
      account_id: accountId,
      first: earlier?.first ?? first,
      last: later?.last ?? last,
      hash: later?.hash ?? run.at(-1)!.hash,
      signed_at: chain.now,
    } as const);
    await saveCheckpoint(tx, checkpoint);
  }
  return links.length;
}

/**
 * Erases the details of events and their salts; the chain verifies without them, and a signed note
 * in each event states that the service did it. Events of conversations under legal hold are left
 * out. Returns how many were erased. Holds the lock of the chain until the transaction ends, so it
 * is called last.
 */
export async function blankDetails(
  tx: Tx,
  signingKey: SigningKey,
  accountId: string,
  events: ErasedEvents,
): Promise<number> {
  const chain = await lockChain(tx, accountId, { wait: true });
  if (chain === undefined) return 0;
  for (let erased = 0; ; ) {
    const found = await readErasable(tx, accountId, events, ERASE_BATCH);
    const erasures = found.map(({ number }) =>
      number === null
        ? null
        : signingKey.sign({
            object: 'audit_erasure',
            account_id: accountId,
            number,
            signed_at: chain.now,
          } as const),
    );
    const ids = found.map(({ id }) => id);
    if (ids.length > 0) await eraseDetails(tx, ids, erasures);
    erased += ids.length;
    if (ids.length < ERASE_BATCH) return erased;
  }
}

const ERASE_BATCH = 1_000;

/**
 * Throws if the checkpoint is not one that this deployment has signed: it must not be signed again.
 */
async function takeOwnCheckpoint(
  tx: Tx,
  { trusted }: SigningKey,
  accountId: string,
  edge: { readonly last: number } | { readonly first: number },
): Promise<Signed<AuditCheckpoint> | undefined> {
  const checkpoint = await takeCheckpoint(tx, accountId, edge);
  if (checkpoint === undefined) return undefined;
  const { object, account_id } = checkpoint;
  const isOwn = object === 'audit_checkpoint' && account_id === accountId;
  if (isOwn && trusted.verify(checkpoint) === 'valid') return checkpoint;
  throw new Error('a checkpoint of the audit is not one that a known key has signed');
}

/** Returns the hash of the link with this number, which is still in the table. */
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

/** Returns the runs of numbers without gaps. */
function runsOf(links: readonly AuditLink[]): AuditLink[][] {
  const runs: AuditLink[][] = [];
  for (const link of links) {
    const run = runs.at(-1);
    if (run?.at(-1)?.number === link.number - 1) run.push(link);
    else runs.push([link]);
  }
  return runs;
}
