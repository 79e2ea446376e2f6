import type { TSchema } from 'typebox';
import { addressless, handleOf, standInOf } from '../schema/addresses.ts';
import { ACTORS_OWN_ID } from '../schema/external-ids.ts';
import { ageOf, type NullBeforeRule, nullBeforeOf, sinceOf } from '../schema/since.ts';
import { VERSIONS, type Version } from '../versions.ts';
import { isMention, mentioned } from './mentions.ts';

/** The places of a schema that came with later versions. */
export type Shape =
  | {
      readonly kind: 'object';
      /** Oldest versions first; without `personal`. */
      readonly newer: readonly Newer[];
      /** Fields of actors that not every reader sees. */
      readonly personal: readonly Personal[];
      /** Fields whose values have such places inside. */
      readonly parts: readonly Part[];
      /** Fields with values that older versions see as null. */
      readonly nulled: readonly Nulled[];
      /** Addresses in place of which older versions see one that stands for none. */
      readonly standIns: readonly Aged[];
    }
  | { readonly kind: 'list'; readonly item: TSchema }
  /** Resources of several kinds, by the constant in their `object`. */
  | { readonly kind: 'choice'; readonly byObject: ReadonlyMap<unknown, TSchema> };

/** The fields that came with one version. */
export interface Newer {
  /** Position in VERSIONS. */
  readonly age: number;
  readonly fields: readonly Field[];
}

export interface Field {
  readonly name: string;
  /** The JSON text before its value, behind another field. */
  readonly key: string;
  /** Present if its values have such places inside. */
  readonly schema?: TSchema;
}

/** A field that came with a version. */
export interface Aged extends Field {
  /** Position in VERSIONS. */
  readonly age: number;
}

/** A field of an actor that not every reader sees: its own id, or its address. */
export interface Personal extends Aged {
  readonly sight: 'seesOwnIds' | 'seesHandles';
  /** The `type` of the objects in which it is personal; absent for all. */
  readonly only?: string;
}

/** A field of which some values came with a version. */
export interface Nulled extends Aged {
  readonly rule: NullBeforeRule;
}

interface Part extends Field {
  readonly schema: TSchema;
  /** Whether the field itself is one of `newer`. */
  readonly isNewer: boolean;
}

/** A reader, as far as a form depends on it. A Principal is one. */
export interface FormReader {
  /** Whether it sees the own ids of all actors; if not, it sees its own alone. */
  readonly seesOwnIds: boolean;
  /** The same for the addresses of people. */
  readonly seesHandles: boolean;
  readonly actor: { readonly id: string };
}

/** Stands for readers that see everything. */
const SEES_ALL: FormReader = { seesOwnIds: true, seesHandles: true, actor: { id: '' } };

/**
 * Returns the value in the form of this version: without newer parts, at any depth, and with null
 * in place of own ids and addresses that the reader does not see. The value itself is not changed,
 * and parts that are the same in both versions are shared. Dropped fields are set to undefined,
 * which JSON leaves out; that is cheaper than copies with fewer keys.
 */
export function formAt<T>(version: Version, schema: TSchema, value: T, reader: FormReader = SEES_ALL): T {
  const age = ageOf(version);
  const newest = NEWEST_AGES.get(schema) ?? newestAge(schema);
  NEWEST_AGES.set(schema, newest);
  const isWhole = newest <= age && reader.seesOwnIds && reader.seesHandles;
  return isWhole ? value : (cut({ age, reader }, schema, value) as T);
}

/** By schema of an answer. */
const NEWEST_AGES = new WeakMap<TSchema, number>();

/** Returns undefined if all versions and readers have the same of every value of the schema. */
export function shapeOf(schema: TSchema): Shape | undefined {
  if (SHAPES.has(schema)) return SHAPES.get(schema);
  const shape = hasForms(schema) ? makeShape(schema) : undefined;
  SHAPES.set(schema, shape);
  return shape;
}

/** Works out the shapes of a schema and its parts now, not at the first value of each. */
export function prepareForms(schema: TSchema): void {
  if (SHAPES.has(schema)) return;
  const shape = shapeOf(schema);
  if (shape?.kind === 'object') for (const part of shape.parts) prepareForms(part.schema);
  else if (shape?.kind === 'list') prepareForms(shape.item);
  else if (shape?.kind === 'choice') for (const choice of shape.byObject.values()) prepareForms(choice);
}

/** Returns the shape for one of several kinds of resources. */
export function chosen(byObject: ReadonlyMap<unknown, TSchema>, value: object): Shape | undefined {
  const schema = byObject.get((value as { readonly object?: unknown }).object);
  return schema && shapeOf(schema);
}

const SHAPES = new WeakMap<TSchema, Shape | undefined>();

interface Cut {
  readonly age: number;
  readonly reader: FormReader;
}

function cut(to: Cut, schema: TSchema, value: unknown): unknown {
  const shape = shapeOf(schema);
  return shape === undefined ? value : cutAs(to, shape, value);
}

function cutAs(to: Cut, shape: Shape, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (shape.kind === 'choice') {
    const own = chosen(shape.byObject, value);
    return own === undefined ? value : cutAs(to, own, value);
  }
  if (shape.kind === 'list') {
    return Array.isArray(value) ? value.map((item) => cut(to, shape.item, item)) : value;
  }
  const { age, reader } = to;
  const copy: Record<string, unknown> = { ...value };
  for (const newer of shape.newer) {
    if (newer.age > age) for (const { name } of newer.fields) copy[name] = undefined;
  }
  for (const { name, schema } of shape.parts) {
    const part = copy[name];
    if (typeof part === 'object' && part !== null) copy[name] = cut(to, schema, part);
  }
  for (const one of shape.personal) {
    if (one.age > age) copy[one.name] = undefined;
    else if (!reader[one.sight] && isPersonal(one, copy) && !isOf(reader, copy)) copy[one.name] = null;
  }
  for (const one of shape.standIns) if (one.age > age && isStoodIn(one, copy)) copy[one.name] = standIn(copy);
  for (const one of shape.nulled) if (one.age > age && isNulled(one, copy)) copy[one.name] = null;
  return copy;
}

function isOf({ actor }: FormReader, object: Readonly<Record<string, unknown>>): boolean {
  return actor.id === (object.actor_id ?? object.id);
}

/** Returns whether the field of `object` is one that not every reader sees. */
export function isPersonal({ only }: Personal, object: Readonly<Record<string, unknown>>): boolean {
  return only === undefined || only === object.type;
}

/** Returns whether older versions see an address that stands for none. */
export function isStoodIn({ name }: Aged, object: Readonly<Record<string, unknown>>): boolean {
  return object[name] === null && typeof object.id === 'string';
}

function standIn({ id }: Readonly<Record<string, unknown>>): string {
  return addressless(String(id));
}

/** Returns whether older versions see null in place of the field's value in `object`. */
export function isNulled({ name, rule }: Nulled, object: Readonly<Record<string, unknown>>): boolean {
  return object[name] !== null && object[name] !== undefined && object[rule.unless] !== rule.is;
}

/** The parts of JSON Schema that resources are made of. */
interface Schema {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
  readonly oneOf?: readonly TSchema[];
}

function makeShape(schema: TSchema): Shape {
  if (isMention(schema)) return shapeOf(mentioned(schema))!;
  const { properties, items, anyOf, oneOf } = schema as Schema;
  const choices = (anyOf ?? oneOf)?.filter((choice) => hasForms(choice));
  if (choices?.length === 1 && isOnlyChoice(choices[0]!, anyOf ?? oneOf!)) return shapeOf(choices[0]!)!;
  if (choices !== undefined) {
    return { kind: 'choice', byObject: new Map(choices.map((choice) => [objectOf(choice), choice])) };
  }
  if (items !== undefined) return { kind: 'list', item: items };
  const fields = Object.entries(properties ?? {});
  return {
    kind: 'object',
    newer: VERSIONS.flatMap((version, age) => {
      const own = fields.filter(([, property]) => sinceOf(property) === version && !sightOf(property));
      return own.length === 0 ? [] : { age, fields: own.map(asField) };
    }),
    personal: fields.flatMap(([name, property]) => {
      const sight = sightOf(property);
      if (sight === undefined) return [];
      const only = handleOf(property);
      const age = ageOf(sinceOf(property) ?? VERSIONS[0]);
      return { ...asField([name, property]), age, sight, ...(only !== undefined && { only }) };
    }),
    parts: fields
      .filter(([, property]) => hasForms(property))
      .map(([name, schema]) => ({
        ...asField([name, schema]),
        schema,
        isNewer: sinceOf(schema) !== undefined,
      })),
    nulled: fields.flatMap(([name, property]) => {
      const rule = nullBeforeOf(property);
      return rule === undefined ? [] : [{ ...asField([name, property]), age: ageOf(rule.version), rule }];
    }),
    standIns: fields.flatMap(([name, property]) => {
      const version = standInOf(property)?.version;
      return version === undefined ? [] : { ...asField([name, property]), age: ageOf(version) };
    }),
  };
}

function sightOf(schema: TSchema): Personal['sight'] | undefined {
  if (ACTORS_OWN_ID in schema) return 'seesOwnIds';
  return handleOf(schema) === undefined ? undefined : 'seesHandles';
}

function asField([name, schema]: readonly [string, TSchema]): Field {
  return { name, key: `,"${name}":`, ...(hasForms(schema) && { schema }) };
}

/** Returns whether every other choice is null. */
function isOnlyChoice(choice: TSchema, choices: readonly TSchema[]): boolean {
  return choices.every((other) => other === choice || (other as { type?: unknown }).type === 'null');
}

function objectOf(schema: TSchema): unknown {
  const { properties } = (isMention(schema) ? mentioned(schema) : schema) as Schema;
  const { const: object } = (properties?.object ?? {}) as { readonly const?: unknown };
  if (object === undefined) throw new TypeError('Resources of several kinds are told apart by `object`.');
  return object;
}

function hasForms(schema: TSchema): boolean {
  return newestAge(schema) >= 0;
}

/**
 * Returns the position in VERSIONS of the newest field or value that has a form of its own, at any
 * depth; a negative number if there is none.
 */
function newestAge(schema: TSchema, seen = new Set<TSchema>()): number {
  if (seen.has(schema)) return -1;
  seen.add(schema);
  if (isMention(schema)) return newestAge(mentioned(schema), seen);
  const { properties = {}, items, anyOf = [], oneOf = [] } = schema as Schema;
  const fields = Object.values(properties);
  const parts = [...fields, ...(items === undefined ? [] : [items]), ...anyOf, ...oneOf];
  const versions = fields.flatMap((field) => [
    sinceOf(field),
    nullBeforeOf(field)?.version,
    standInOf(field)?.version,
    handleOf(field) === undefined ? undefined : VERSIONS[0],
  ]);
  return Math.max(
    -1,
    ...versions.map((version) => (version === undefined ? -1 : ageOf(version))),
    ...parts.map((part) => newestAge(part, seen)),
  );
}
