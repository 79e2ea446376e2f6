import { ApiError, invalid, missingField } from '@parley/protocol/errors/errors.ts';
import { EXTERNAL_PREFIX, externalIdIn, type NamedKind } from '@parley/protocol/schema/external-ids.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { findExternal } from '../../resources/external-ids.ts';

/** PUT to `ext:<external_id>`, which creates or changes (docs/contract.md#own-ids). */

export interface Upsert<Found> {
  readonly accountId: string;
  readonly kind: NamedKind;
  readonly externalId: string;
  /** Throws `resource_exists` (param external_id) in a way after which `tx` can go on. */
  create(): Promise<Found>;
  /** Changes the resource with this id. */
  change(id: string): Promise<Found>;
}

/** The resource after a PUT. */
export interface Put<Found> {
  readonly found: Found;
  readonly isNew: boolean;
}

/**
 * Changes the resource with the external id, or creates it. Concurrent requests that find none
 * create one row: the later requests see it after its commit, and change it.
 */
export async function createOrChange<Found>(
  tx: Tx,
  { accountId, kind, externalId, create, change }: Upsert<Found>,
): Promise<Put<Found>> {
  const find = () => findExternal(tx, { accountId }, kind, externalId);
  const there = await find();
  if (there !== undefined) return { found: await change(there), isNew: false };
  try {
    return { found: await create(), isNew: true };
  } catch (error) {
    if (!isTaken(error)) throw error;
    const created = await find();
    if (created === undefined) throw error;
    return { found: await change(created), isNew: false };
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof ApiError && error.condition === 'resource_exists' && error.param === 'external_id';
}

/**
 * Returns the external id in the path of a PUT. Throws ApiError `resource_not_found` (param id) for
 * an id of Parley, which PATCH takes, or `validation_failed` for an invalid external id.
 */
export function putIdOf({ id = '' }: Readonly<Record<string, string>>): string {
  const externalId = externalIdIn(id);
  if (externalId !== undefined) return externalId;
  if (id.startsWith(EXTERNAL_PREFIX)) {
    throw invalid('id', 'An external id has 1 to 255 characters, and no control characters.');
  }
  const message = 'PUT takes ext:<external_id> in the path. What has an id of Parley is changed by PATCH.';
  throw new ApiError('resource_not_found', message, { param: 'id' });
}

/** Returns a field of a PUT. Throws `missing_field` if it is absent and a resource is created. */
export function requiredToCreate<Value>(field: string, value: Value | undefined, noun: string): Value {
  if (value !== undefined) return value;
  throw missingField(field, `This field is required: no ${noun} has this external_id yet.`);
}
