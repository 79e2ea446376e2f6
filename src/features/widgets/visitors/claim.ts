import { ApiError } from '@parley/protocol/errors/errors.ts';
import { enqueueRightsChanged } from '../../../core/accounts/rights/rights-changed.ts';
import { endEveryToken } from '../../../core/accounts/sessions/sessions.ts';
import { audit } from '../../../core/audit/audit.ts';
import { enqueueChanged } from '../../../core/events/changes.ts';
import { allHoldings } from '../../../core/features/all-holdings.ts';
import type { MovedEvent, PersonMove } from '../../../core/resources/holdings.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { addJob } from '../../../platform/db/queue/queue.ts';
import { defineTopic } from '../../../platform/db/queue/topic.ts';
import { deleteActor, lockVisitor, markClaimed, readClaimed, type VisitorRow } from './visitor-store.ts';

export interface Claim {
  readonly accountId: string;
  readonly visitorId: string;
  readonly customerId: string;
  /** The proof that the visitor is the customer. */
  readonly by: 'token' | 'address';
}

/**
 * Merges an anonymous visitor into the customer that it is, in one transaction: all its content
 * becomes the customer's, and its tokens and sockets end (docs/contract.md#widgets). A repetition
 * changes nothing. `refusal`: why the visitor cannot be claimed for the first time. Throws ApiError
 * `invalid_credentials` for an actor that is no visitor, or `resource_conflict` for a visitor that
 * is, or was claimed by, another customer.
 */
export async function claimVisitor(tx: Tx, claim: Claim, refusal?: ApiError): Promise<VisitorRow> {
  const { accountId, visitorId, customerId } = claim;
  const visitor = await lockVisitor(tx, accountId, visitorId);
  if (visitor === undefined) throw new ApiError('invalid_credentials', 'This is no visitor.', PARAM);
  if (visitor.claimed_by === customerId) return visitor;
  if (visitor.claimed_by !== null) throw taken();
  if (refusal !== undefined) throw refusal;
  // Locked in a fixed order, so that two claims cannot deadlock.
  const actors = new Map((await tx.query(LOCK_ACTORS, [visitorId, customerId])).map((row) => [row.id, row]));
  const [from, to] = [actors.get(visitorId), actors.get(customerId)];
  if (from === undefined || from.deactivated || to === undefined || to.deactivated) {
    throw new ApiError('invalid_credentials', 'The visitor or the customer was deactivated.', PARAM);
  }
  // The team knows the visitor by an id of the application.
  if (visitorId !== customerId && from.external_id !== null) throw taken();
  await endEveryToken(tx, visitorId);
  const conversationIds: string[] = [];
  if (visitorId !== customerId) {
    conversationIds.push(...(await tx.query(READ_CONVERSATIONS, visitorId)).map(({ id }) => id));
    const events: MovedEvent[] = [];
    await move(tx, { from: visitorId, to: customerId, conversationIds, events });
    await tx.query(DEACTIVATE, visitorId);
    const job = { visitor_id: visitorId, events };
    await addJob(tx, VISITOR_CLAIMED, job, { key: visitorId, afterMs: SETTLE_MS });
  }
  await enqueueRightsChanged(tx, [visitorId, customerId]);
  await record(tx, claim, conversationIds);
  return markClaimed(tx, visitorId, customerId, conversationIds);
}

export interface ClaimedVisitor {
  readonly visitor_id: string;
  /** The changes of the claim, for which the visitor has no socket any more. */
  readonly events: readonly MovedEvent[];
}

/**
 * A job of the queue: gives the customer the visitor's unfinished work, publishes all changes of
 * the claim, then removes the visitor's actor.
 */
export const VISITOR_CLAIMED = defineTopic<ClaimedVisitor>('visitor_claimed');

/** Settles a claim; may run twice. */
export async function settleClaim(
  database: Database,
  { visitor_id: visitorId, events }: ClaimedVisitor,
): Promise<void> {
  await database.transaction(async (tx) => {
    const [claim] = await tx.query(READ_CLAIM, visitorId);
    if (claim === undefined) return;
    const { claimed_by: to, conversation_ids: conversationIds } = claim;
    const changes = [...events];
    await move(tx, { from: visitorId, to, conversationIds, events: changes });
    for (let start = 0; start < changes.length; start += CHANGES_AT_ONCE) {
      await enqueueChanged(tx, changes.slice(start, start + CHANGES_AT_ONCE));
    }
    await deleteActor(tx, visitorId);
  });
}

/** Settles late writes of a node that was cut off from the others. */
export async function settleLate(database: Database): Promise<void> {
  for (const visitor_id of await readClaimed(database))
    await settleClaim(database, { visitor_id, events: [] });
}

async function move(tx: Tx, move: PersonMove): Promise<void> {
  await tx.query(LOCK_CONVERSATIONS, move.conversationIds);
  for (const holdings of allHoldings(tx)) await holdings.movePerson?.(tx, move);
}

/** Records the claim in the audit of each conversation, even under a hold. */
async function record(
  tx: Tx,
  { accountId, visitorId, customerId, by }: Claim,
  conversationIds: readonly string[],
): Promise<void> {
  const details = { visitor_id: visitorId, customer_id: customerId, by };
  const common = { accountId, actorId: null, action: 'visitor.claimed', details } as const;
  await audit(tx, common);
  for (const conversationId of conversationIds) await audit(tx, { ...common, conversationId });
}

const PARAM = { param: 'visitor_token' } as const;

/** Changes in one outbox row, which is handled as a whole. */
const CHANGES_AT_ONCE = 500;

/** Milliseconds within which every node has learned of the claim and ended visitors' requests. */
const SETTLE_MS = 2_000;

function taken(): ApiError {
  return new ApiError('resource_conflict', 'This visitor is another customer.', PARAM);
}

const LOCK_ACTORS = statement<
  [ids: readonly string[]],
  { id: string; external_id: string | null; deactivated: boolean }
>('lock-actors-of-claim')`
    SELECT id, external_id, deactivated_at IS NOT NULL AS deactivated FROM actors
    WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`;

const READ_CONVERSATIONS = statement<[visitorId: string], { id: string }>('read-conversations-of-visitor')`
    SELECT conversation_id AS id FROM participants WHERE actor_id = $1 ORDER BY 1`;

const LOCK_CONVERSATIONS = statement<[ids: readonly string[]]>('lock-conversations-of-claim')`
    SELECT FROM conversations WHERE id = ANY($1) ORDER BY id FOR UPDATE`;

const DEACTIVATE = statement<[id: string]>('deactivate-visitor')`
    UPDATE actors SET deactivated_at = clock_timestamp(), tokens_ended_at = clock_timestamp(),
      updated_at = later_than(updated_at)
    WHERE id = $1`;

const READ_CLAIM = statement<[id: string], { claimed_by: string; conversation_ids: string[] }>('read-claim')`
    SELECT claimed_by, conversation_ids FROM visitors
    WHERE id = $1 AND claimed_by IS NOT NULL AND claimed_by <> id FOR UPDATE`;
