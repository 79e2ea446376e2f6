import { type TSchema, Type } from 'typebox';
import { isVersion, VERSIONS, type Version } from '../versions.ts';
import { standInOf } from './addresses.ts';

/**
 * A field of a resource, request body, query or frame that came with a version. Callers of an older
 * version neither receive nor send it, so it is optional in every schema; presenters always fill
 * it. The declaration determines the form of answers and events at the caller's version (forms.ts),
 * the validators (`schemaAt`), and `x-since` in the documents.
 */
export function Since<S extends TSchema>(version: Version, schema: S) {
  return Object.assign(Type.Optional(schema), { [SINCE]: version });
}

/** A field of a request body that callers of older versions must send. */
export function OptionalSince<S extends TSchema>(version: Version, schema: S) {
  return Object.assign(Type.Optional(schema), { [OPTIONAL_SINCE]: version });
}

/** Until when a field is null: before `version`, unless the field `unless` beside it is `is`. */
export interface NullBeforeRule {
  readonly version: Version;
  readonly unless: string;
  readonly is: string;
}

/**
 * A field whose values came with a later version than the field itself: an answer has the values of
 * its version, as it has the fields (DECISIONS.md#values-have-versions-too).
 */
export function NullBefore<S extends TSchema>(rule: NullBeforeRule, schema: S): S {
  return Object.assign(schema, { [NULL_BEFORE]: rule });
}

/** The keyword that carries the rule of `NullBefore`. Validators skip it, documents print it. */
export const NULL_BEFORE = 'x-null-before';

/** Returns the rule that a field's schema was declared with. */
export function nullBeforeOf(schema: object): NullBeforeRule | undefined {
  return (schema as { readonly [NULL_BEFORE]?: NullBeforeRule })[NULL_BEFORE];
}

/** The keyword that says since when a field may be absent. */
export const OPTIONAL_SINCE = 'x-optional-since';

/** The keyword that carries the version. Validators skip it, documents print it. */
export const SINCE = 'x-since';

/**
 * The keyword that names the members of a closed set that came with a later version. Beside
 * `maxItems` it stands for a list that has each member once.
 */
export const MEMBERS_SINCE = 'x-members-since';

/** The versions of later members of a closed set; other members were there from the beginning. */
export type MembersSince<Member extends string = string> = Readonly<Partial<Record<Member, Version>>>;

/** Returns the version that a field's schema was declared with. */
export function sinceOf(schema: object): Version | undefined {
  const { [SINCE]: since } = schema as { readonly [SINCE]?: unknown };
  return typeof since === 'string' && isVersion(since) ? since : undefined;
}

/** Returns the position in VERSIONS; a version is newer than those before it. */
export function ageOf(version: Version): number {
  return VERSIONS.indexOf(version);
}

/** Returns the schema without parts newer than `version`; the same object if there are none. */
export function schemaAt<S extends object>(version: Version, schema: S): S {
  return copyAt(ageOf(version), schema) as S;
}

/**
 * Returns the schema of answers at `version`, without newer fields. Fields of versions up to it are
 * required like the rest, because presenters always fill them.
 */
export function answerAt<S extends object>(version: Version, schema: S): S {
  return withAllRequired(schemaAt(version, schema)) as S;
}

function withAllRequired(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withAllRequired);
  const { [SINCE]: _, ...copy } = Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, withAllRequired(part)]),
  );
  const { properties, required = [] } = value as Partial<ObjectSchema>;
  if (typeof properties !== 'object') return copy;
  const later = Object.keys(properties).filter((name) => sinceOf(properties[name]!) !== undefined);
  return { ...copy, required: [...required, ...later] };
}

interface ObjectSchema {
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
}

function copyAt(age: number, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const standIn = standInOf(value);
  if (standIn !== undefined && ageOf(standIn.version) > age) {
    return { type: 'string', description: standIn.description };
  }
  const all = Object.entries(value);
  const known = all
    .filter(([, part]) => !isNewer(age, part))
    .map(([name, part]) => [name, partAt(age, name, part, value)] as const)
    .filter(([, part]) => part !== undefined);
  const required = requiredAt(age, value);
  if (required.length > 0) known.push(['required', required]);
  const isWhole = known.length === all.length && known.every(([, part], index) => part === all[index]![1]);
  if (isWhole) return value;
  return Array.isArray(value) ? known.map(([, part]) => part) : Object.fromEntries(known);
}

/** Returns the required fields of an object, if some may be absent in a later version. */
function requiredAt(age: number, schema: object): string[] {
  const { properties, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, { readonly [OPTIONAL_SINCE]?: Version }>>;
    readonly required?: readonly string[];
  };
  if (typeof properties !== 'object') return [];
  const earlier = Object.entries(properties).filter(
    ([, { [OPTIONAL_SINCE]: since }]) => since !== undefined && ageOf(since) > age,
  );
  return earlier.length === 0 ? [] : [...required, ...earlier.map(([name]) => name)];
}

/** Returns the known part under a keyword of a schema; undefined if there is none. */
function partAt(age: number, keyword: string, part: unknown, schema: object): unknown {
  if (keyword === 'enum') return membersAt(age, part as readonly unknown[], schema);
  if (keyword === 'maxItems') return Number(part) - laterMembers(age, schema);
  if (keyword !== MEMBERS_SINCE) return copyAt(age, part);
  const all = Object.entries(part as MembersSince);
  const known = all.filter(([, version = VERSIONS[0]]) => ageOf(version) <= age);
  if (known.length === all.length) return part;
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

function membersAt(age: number, members: readonly unknown[], schema: object): readonly unknown[] {
  const { [MEMBERS_SINCE]: since = {} } = schema as { readonly [MEMBERS_SINCE]?: MembersSince };
  const known = members.filter((member) => ageOf(since[String(member)] ?? VERSIONS[0]) <= age);
  return known.length === members.length ? members : known;
}

/** Returns how many members came later of the closed set that a list has once each. */
function laterMembers(age: number, schema: object): number {
  const { [MEMBERS_SINCE]: since = {} } = schema as { readonly [MEMBERS_SINCE]?: MembersSince };
  return Object.values(since).filter((version = VERSIONS[0]) => ageOf(version) > age).length;
}

/** Returns whether callers of this version lack what the schema declares. */
export function isNewerThan(version: Version, schema: object): boolean {
  return isNewer(ageOf(version), schema);
}

function isNewer(age: number, schema: unknown): boolean {
  const since = typeof schema === 'object' && schema !== null ? sinceOf(schema) : undefined;
  return since !== undefined && ageOf(since) > age;
}
