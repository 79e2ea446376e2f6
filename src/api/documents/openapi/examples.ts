import { ID_PREFIXES, type IdKind } from '@parley/protocol/ids.ts';
import { EFFECTS } from './effects.ts';
import * as samples from './samples.ts';
import { nameOf, type SchemaObject } from './schemas.ts';

export type FindSchema = (name: string) => SchemaObject | undefined;

/**
 * Returns a constant value that a schema accepts, close to a real answer: ids have prefixes,
 * sub-objects are null as without include[]. `examples` and `default` take precedence.
 */
export function exampleOf(schema: SchemaObject, find: FindSchema): unknown {
  return valueFor(schema, { find, field: '', owner: '', sparse: false });
}

/** Returns an example of the answer of an operation, with the effect of the operation. */
export function answerExampleOf(schema: SchemaObject, find: FindSchema, operation: string): unknown {
  const usual = exampleOf(schema, find);
  const effect = EFFECTS[operation];
  if (effect === undefined) return usual;
  // A document of an older version lacks some of the fields.
  const known = Object.entries(effect).filter(([field]) => Object.hasOwn(usual as object, field));
  return { ...(usual as object), ...Object.fromEntries(known) };
}

/**
 * Returns a request body: the required fields, and optional ones that most callers send. A schema
 * whose fields depend on each other needs `examples`. `owner` is the resource that the body makes,
 * such as `chat_message`.
 */
export function bodyExampleOf(schema: SchemaObject, find: FindSchema, owner: string): unknown {
  return valueFor(schema, { find, field: '', owner, sparse: true });
}

/** Returns an id for `:name`, of the kind that the path names before it (`/v1/api-keys/:id`). */
export function pathExampleOf(path: string, name: string): string {
  const collection = /([a-z]+)\/:id(?:\/|$)/.exec(path)?.[1] ?? '';
  const noun = collection.replace(/ies$/, 'y').replace(/(?<=x)es$|s$/, '');
  const kind = name === 'id' ? samples.NOUNS[noun] : kindOf(name);
  return kind === undefined ? ANY_TEXT : idOf(kind);
}

interface SamplePath {
  readonly find: FindSchema;
  /** The value's field; '' at the top. */
  readonly field: string;
  /** The field's object, such as `chat_message`; '' if it has no name. */
  readonly owner: string;
  /** True for requests: only required fields and fields that are often sent. */
  readonly sparse: boolean;
}

function valueFor(schema: SchemaObject, place: SamplePath): unknown {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref);
    return valueFor(place.find(name) ?? {}, { ...place, owner: name });
  }
  if (schema.examples !== undefined) return schema.examples[0];
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (samples.EMPTY_LISTS.has(pathOf(place))) return [];
  const [type, isNullable] = typeOf(schema);
  const isUnusual = type === 'array' || type === 'object' ? isLeftOut : isUsuallyNull;
  if (isNullable && isUnusual(place)) return null;
  if (schema.enum !== undefined) return memberOf(schema.enum, place);
  if (schema.properties !== undefined) return objectOf(schema, place);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choiceOf(choices, place);
  if (schema.allOf !== undefined) {
    return Object.assign({}, ...schema.allOf.map((part) => valueFor(part, place)));
  }
  return VALUES[type]?.(schema, place) ?? null;
}

/** Returns null for an object, as without its include[]; else the example of the first choice. */
function choiceOf(choices: readonly SchemaObject[], place: SamplePath): unknown {
  const isNullable = choices.some(({ type }) => type === 'null');
  const value = choices.find(({ type }) => type !== 'null');
  if (value === undefined || (isNullable && value.$ref !== undefined && isLeftOut(place))) return null;
  return valueFor(value, place);
}

const VALUES: Readonly<Record<string, (schema: SchemaObject, place: SamplePath) => unknown>> = {
  object: objectOf,
  array: arrayOf,
  string: textOf,
  integer: ({ minimum = 0 }, { field }) => Math.max(samples.NUMBERS[field] ?? 1, minimum),
  number: ({ minimum = 0 }, { field }) => Math.max(samples.NUMBERS[field] ?? 0, minimum),
  boolean: () => false,
};

function objectOf(
  { properties = {}, required = [] }: SchemaObject,
  place: SamplePath,
): Record<string, unknown> {
  const object = properties.object?.const;
  const owner = typeof object === 'string' ? object : place.owner;
  const fields = Object.entries(properties)
    .filter(([field]) => !place.sparse || required.includes(field) || samples.OFTEN_SENT.has(field))
    .map(([field, property]) => [field, valueFor(property, { ...place, field, owner })]);
  return Object.fromEntries(fields);
}

/** Returns one item, or none if the schema only says that it is text. */
function arrayOf({ items, minItems = 0 }: SchemaObject, place: SamplePath): unknown[] {
  if (items === undefined) return [];
  const item = valueFor(items, place);
  return item === ANY_TEXT && minItems === 0 ? [] : [item];
}

function memberOf(members: readonly unknown[], { owner, field }: SamplePath): unknown {
  const usual = samples.USUAL_MEMBERS[`${owner}.${field}`] ?? samples.USUAL_MEMBERS[field];
  return members.includes(usual) ? usual : members[0];
}

function textOf(schema: SchemaObject, { field, owner }: SamplePath): string {
  const { format, maxLength = Infinity } = schema;
  if (format === 'date-time') return samples.TIMES[field] ?? samples.USUAL_TIME;
  if (format === 'email') return 'ada@example.com';
  if (format === 'uri' || field.endsWith('url')) return 'https://example.com/manual';
  const text = samples.TEXTS[`${owner}.${field}`] ?? samples.TEXTS[field];
  if (text !== undefined) return text.slice(0, maxLength);
  const kind = field === 'id' ? samples.KINDS[owner] : kindOf(field);
  return kind === undefined ? ANY_TEXT : idOf(kind);
}

function typeOf({ type }: SchemaObject): [type: string, isNullable: boolean] {
  if (type === undefined) return ['', false];
  if (typeof type === 'string') return [type, type === 'null'];
  return [type.find((one) => one !== 'null') ?? 'null', type.includes('null')];
}

/** Returns true for events that an ordinary resource lacks, missing pages, and rare fields. */
function isUsuallyNull(place: SamplePath): boolean {
  const { field } = place;
  const isIn = (names: ReadonlySet<string>) => names.has(field) || names.has(pathOf(place));
  if (field.endsWith('_at')) return !isIn(samples.USUAL_TIMES);
  return field.endsWith('page_url') || isIn(samples.RARE);
}

/** Returns true for sub-objects that are null unless a caller requests them. */
function isLeftOut(place: SamplePath): boolean {
  return !samples.ALWAYS_SHOWN.has(pathOf(place));
}

/** Returns the field as samples.ts names it: `resource.field`. */
function pathOf({ owner, field }: SamplePath): string {
  return `${owner}.${field}`;
}

/** Returns the same id for every resource of a kind. */
function idOf(kind: IdKind): string {
  return `${ID_PREFIXES[kind]}_0VQ3mK8ZtYp4Xw7LbN2cRd9F`;
}

/** Returns the kind of a field's id: `role_id`, `mentions[]`, `created_by`, `triggered_by_id`. */
function kindOf(field: string): IdKind | undefined {
  if (/_by(?:_id)?$/.test(field)) return 'actor';
  const noun = /^(?:.*_)?([a-z]+?)_ids?(?:\[\])?$/.exec(field)?.[1] ?? (field === 'mentions' ? 'user' : '');
  return samples.NOUNS[noun];
}

/** Stands for texts of unknown content. No published example has it (test/http/openapi.test.ts). */
const ANY_TEXT = 'text';
