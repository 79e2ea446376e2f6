import { ApiError, invalid, missingField, unavailable } from '@parley/protocol/errors/errors.ts';
import { isOwnType, OWN_TYPE_REFUSED } from '@parley/protocol/event-areas.ts';
import { newId } from '@parley/protocol/ids.ts';
import { canonicalJson } from '@parley/protocol/json/canonical-json.ts';
import { type CreateEventBody, PLATFORM_EVENT_LIMITS } from '@parley/protocol/resources/platform-event.ts';
import { formatTraceparent, type TraceContext } from '@parley/protocol/traceparent.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import { jsonbBytes } from '../../platform/db/tables/touched.ts';
import { PLATFORM_EVENT, type PlatformEventRow } from './platform-event.ts';

/**
 * Create Event (docs/contract.md#events). An event with a known `event_id` is returned as it was
 * first raised, without a second effect. Throws ApiError `idempotency_key_reused` (param event_id)
 * if its content differs.
 */
export async function createEvent(
  tx: Tx,
  { principal, trace }: { readonly principal: Principal; readonly trace: TraceContext | undefined },
  body: CreateEventBody,
): Promise<{ readonly row: PlatformEventRow; readonly isRepeated: boolean }> {
  const event: NewPlatformEvent = {
    id: newId('event'),
    account_id: principal.accountId,
    type: body.type,
    event_id: body.event_id || null,
    data: body.data,
    resource_type: body.resource_type ?? null,
    resource_id: body.resource_id ?? null,
    created_by: principal.actor.id,
  };
  const created = await insertEvent(tx, event);
  if (created === undefined) {
    const [known] = await tx.query(READ_BY_EVENT_ID, event.account_id, event.event_id!);
    return { row: requireSame(known, event), isRepeated: true };
  }
  await enqueue(tx, PLATFORM_EVENT, {
    event_id: created.id,
    ...(trace !== undefined && { traceparent: formatTraceparent(trace) }),
  });
  return { row: created, isRepeated: false };
}

type NewPlatformEvent = Omit<PlatformEventRow, 'created_at'>;

/** Returns undefined if the account has an event with this `event_id`. */
function insertEvent(tx: Tx, event: NewPlatformEvent): Promise<PlatformEventRow | undefined> {
  return tx.kysely
    .insertInto('platform_events')
    .values({ ...event, data: JSON.stringify(event.data) })
    .onConflict((on) => on.columns(['account_id', 'event_id']).where('event_id', 'is not', null).doNothing())
    .returningAll()
    .executeTakeFirst();
}

/** Throws ApiError `validation_failed` (area, size) or `missing_field` (one half of a resource). */
export function checkEvent({ type, data, resource_type, resource_id }: CreateEventBody): void {
  if (isOwnType(type)) throw invalid('type', OWN_TYPE_REFUSED);
  const { dataBytes } = PLATFORM_EVENT_LIMITS;
  // The data becomes the input of runs.
  if (jsonbBytes(data) > dataBytes) {
    throw invalid('data', `Must have at most ${dataBytes} bytes as JSON, with numbers written out.`);
  }
  if (resource_type !== undefined && resource_id === undefined) throw missingField('resource_id');
  if (resource_id !== undefined && resource_type === undefined) throw missingField('resource_type');
}

/** Requires the same content for the same key, as with an Idempotency-Key. */
function requireSame(known: PlatformEventRow | undefined, event: NewPlatformEvent): PlatformEventRow {
  // The row was purged between the two statements; the next request inserts it.
  if (known === undefined) throw unavailable('The earlier event with this event_id is being removed.');
  if (contentOf(known) === contentOf(event)) return known;
  throw new ApiError('idempotency_key_reused', 'This event_id was used for a different event.', {
    param: 'event_id',
  });
}

/** Returns the content, ignoring the order in `data`, as an Idempotency-Key's fingerprint does. */
function contentOf({ type, data, resource_type, resource_id }: NewPlatformEvent): string {
  return canonicalJson({ type, data, resource_type, resource_id });
}

const READ_BY_EVENT_ID = statement<[accountId: string, eventId: string], PlatformEventRow>(
  'read-platform-event-by-key',
)`
    SELECT * FROM platform_events WHERE account_id = $1 AND event_id = $2`;
