import { Type } from 'typebox';
import { described } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';

/** An application's data on a resource, by its own keys (docs/contract.md#metadata). */
export type Metadata = Readonly<Record<string, string>>;

/** The changes of a PATCH: null removes a key. */
export type MetadataChanges = Readonly<Record<string, string | null>>;

export const METADATA_LIMITS = {
  keys: 50,
  keyCharacters: 40,
  valueCharacters: 500,
  /** Keys in a PATCH, which may remove all and set as many others. */
  changes: 100,
} as const;

/** Customers see the keys that begin with it, and no others. */
export const PUBLIC_PREFIX = 'public_';

const Value = { type: 'string', maxLength: METADATA_LIMITS.valueCharacters };

/** Brackets have a meaning in the filters of lists, `metadata[key]=value`. */
const Key = {
  pattern: `^[^\\p{Cc}\\[\\]]{1,${METADATA_LIMITS.keyCharacters}}$`,
  sentence: `Must have keys of 1 to ${METADATA_LIMITS.keyCharacters} characters, without brackets and control characters.`,
};

const COMMON = { type: 'object', propertyNames: Key, examples: [{ plan: 'pro', public_order: '4711' }] };

export const Metadata = Type.Unsafe<Metadata>({
  ...COMMON,
  maxProperties: METADATA_LIMITS.keys,
  additionalProperties: Value,
});

export const MetadataChanges = Type.Unsafe<MetadataChanges>({
  ...COMMON,
  maxProperties: METADATA_LIMITS.changes,
  additionalProperties: { ...Value, type: ['string', 'null'] },
});

const SINCE = '1.3.harbor';

/** The field `metadata` of a resource, and of a body that creates one. */
export const MetadataField = Since(SINCE, Metadata);

/** The field `metadata` of a body that changes a resource. */
export const MetadataPatch = Since(SINCE, MetadataChanges);

export const METADATA_TEXTS = {
  shown:
    'What the application keeps with the resource: texts by its own keys, `{}` where there are none. Customers are shown keys that begin with `public_` alone.',
  given: `What the application keeps with the resource: at most ${METADATA_LIMITS.keys} keys of ${METADATA_LIMITS.keyCharacters} characters, each with a text of at most ${METADATA_LIMITS.valueCharacters}. Customers are shown keys that begin with \`public_\` alone, and can set no others.`,
  put: 'What the application keeps with the resource. Where it is there already, the keys that are stated are set and the others stay.',
  changed: `Keys to set, and keys to remove, whose value is null. Other keys stay; at most ${METADATA_LIMITS.keys} remain.`,
} as const;

/** The query parameter of a list, `metadata[key]=value` once for each key that it filters by. */
export const MetadataFilter = described(
  Since(SINCE, Metadata),
  'Only resources with this value under this key of their metadata, as in `metadata[plan]=pro`. Of several keys, all must match.',
);
