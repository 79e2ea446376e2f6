import { invalid } from '@parley/protocol/errors/errors.ts';
import {
  METADATA_LIMITS,
  type Metadata,
  type MetadataChanges,
  PUBLIC_PREFIX,
} from '@parley/protocol/resources/metadata.ts';

/** The metadata of a row without any. */
export const NO_METADATA: Metadata = Object.freeze({});

/** Returns the metadata that this reader sees. */
export function metadataFor({ customer }: Reader, metadata: Metadata = NO_METADATA): Metadata {
  if (!customer || metadata === NO_METADATA) return metadata;
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => isPublic(key)));
}

/** Returns whether customers are shown a changed or removed key. */
export function reachesCustomers(metadata: MetadataChanges | undefined): boolean {
  return metadata !== undefined && Object.keys(metadata).some(isPublic);
}

/** Returns whether customers are shown all keys. */
export function isAllPublic(metadata: Metadata = NO_METADATA): boolean {
  return Object.keys(metadata).every(isPublic);
}

/**
 * Requires that a customer names keys that customers see. Throws ApiError `validation_failed` at
 * the key.
 */
export function requireOwnKeys(
  { customer }: Reader,
  metadata: MetadataChanges | undefined,
  param = 'metadata',
): void {
  if (!customer || metadata === undefined) return;
  const foreign = Object.keys(metadata).find((key) => !isPublic(key));
  if (foreign === undefined) return;
  throw invalid(`${param}.${foreign}`, `Customers set keys that begin with ${PUBLIC_PREFIX}, and no others.`);
}

/** Returns the metadata of a new row, or undefined if there is none. */
export function statedMetadata(metadata: Metadata): Metadata | undefined {
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}

/** Returns the value of the column. */
export function storedMetadata(metadata: Metadata | null | undefined): string | null {
  const stated = metadata && statedMetadata(metadata);
  return stated ? JSON.stringify(stated) : null;
}

export interface MergedMetadata {
  /** Null for none. */
  readonly metadata: Metadata | null;
  /** The value of the column. */
  readonly column: string | null;
  /** The keys that were set to another value or removed, sorted. */
  readonly keys: readonly string[];
}

/**
 * Returns the metadata with the changes, of which null removes a key, or undefined if nothing
 * differs. Throws ApiError `validation_failed` if too many keys remain.
 */
export function mergedMetadata(
  present: Metadata | null,
  changes: MetadataChanges | undefined,
  param = 'metadata',
): MergedMetadata | undefined {
  if (changes === undefined) return undefined;
  const merged = new Map(Object.entries(present ?? NO_METADATA));
  const keys: string[] = [];
  for (const [key, value] of Object.entries(changes)) {
    if ((merged.get(key) ?? null) === value) continue;
    keys.push(key);
    if (value === null) merged.delete(key);
    else merged.set(key, value);
  }
  if (keys.length === 0) return undefined;
  if (merged.size > METADATA_LIMITS.keys) {
    throw invalid(
      param,
      `At most ${METADATA_LIMITS.keys} keys can remain, and these would be ${merged.size}.`,
    );
  }
  const metadata = statedMetadata(Object.fromEntries(merged)) ?? null;
  return { metadata, column: storedMetadata(metadata), keys: keys.sort() };
}

interface Reader {
  readonly customer: boolean;
}

function isPublic(key: string): boolean {
  return key.startsWith(PUBLIC_PREFIX);
}
