import { isMention } from '@parley/protocol/forms/mentions.ts';
import { HANDLE_OF, STAND_IN_BEFORE, type StandInRule } from '@parley/protocol/schema/addresses.ts';
import { ID_OF } from '@parley/protocol/schema/external-ids.ts';
import {
  MEMBERS_SINCE,
  type MembersSince,
  NULL_BEFORE,
  type NullBeforeRule,
  SINCE,
} from '@parley/protocol/schema/since.ts';

/**
 * An OpenAPI 3.1 schema (JSON Schema 2020-12), made from the contract's typebox schemas. Keywords
 * of the validator are removed, `Nullable` becomes a list of types, and a schema with a name (its
 * `title`, else the constant in `object`) appears once under `components`.
 */
export interface SchemaObject {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  /** Absent for callers of an older version. */
  readonly 'x-since'?: string;
  /** The members of `enum` that callers of an older version cannot name. */
  readonly 'x-members-since'?: MembersSince;
  readonly 'x-null-before'?: NullBeforeRule;
  readonly 'x-stand-in-before'?: StandInRule;
  /** The kinds of resources that an id may name. */
  readonly 'x-id-of'?: readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly required?: readonly string[];
  readonly items?: SchemaObject;
  readonly additionalProperties?: boolean | SchemaObject;
  readonly patternProperties?: Readonly<Record<string, SchemaObject>>;
  readonly anyOf?: readonly SchemaObject[];
  readonly oneOf?: readonly SchemaObject[];
  readonly allOf?: readonly SchemaObject[];
  /** Conditions between fields (schema.ts); they become `allOf`. */
  readonly conditions?: readonly SchemaObject[];
}

const PREFIX = '#/components/schemas/';

export function nameOf(reference: string): string {
  return reference.slice(PREFIX.length);
}

/** Collects schemas with names. */
export class SchemaComponents {
  readonly #byName = new Map<string, SchemaObject>();
  readonly #texts = new Map<string, string>();
  readonly #mentioned = new Set<string>();

  /** Returns `schema` with references instead of named schemas. */
  convert(schema: SchemaObject): SchemaObject {
    const { [SINCE]: since, [MEMBERS_SINCE]: members, [NULL_BEFORE]: rule, ...known } = schema;
    const { [ID_OF]: kinds, ...id } = schema;
    const { [STAND_IN_BEFORE]: standIn, ...address } = schema;
    if (since !== undefined) {
      const { [SINCE]: _, ...rest } = schema;
      return { ...this.convert(withSentence(rest, `Since version \`${since}\`.`)), [SINCE]: since };
    }
    if (rule !== undefined) return { ...this.convert(withNullBefore(known, rule)), [NULL_BEFORE]: rule };
    if (standIn !== undefined)
      return { ...this.convert(withStandIn(address, standIn)), [STAND_IN_BEFORE]: standIn };
    if (members !== undefined) return { ...withMembersSince(known, members), [MEMBERS_SINCE]: members };
    if (kinds !== undefined) return { ...this.convert(withSentence(id, ALSO_EXTERNAL)), [ID_OF]: kinds };
    if (isMention(schema)) return withDescription(this.#mention(schema.title), schema);
    const converted = this.#convertParts(schema);
    const name = this.#nameFor(converted);
    if (name === undefined) return converted;
    const { description: _, ...named } = converted;
    return withDescription(this.#register(name, named), schema);
  }

  /** Returns all schemas, sorted by name; a schema that was only mentioned is any object. */
  toJSON(): Record<string, SchemaObject> {
    const all = new Map(this.#byName);
    for (const name of this.#mentioned) if (!all.has(name)) all.set(name, { type: 'object', title: name });
    return Object.fromEntries([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  readonly find = (name: string): SchemaObject | undefined => this.#byName.get(name);

  #mention(name: string): SchemaObject {
    this.#mentioned.add(name);
    return { $ref: PREFIX + name };
  }

  /** Adds a schema. A later one of the same name has a number until it gets a title. */
  #register(name: string, schema: SchemaObject): SchemaObject {
    const text = JSON.stringify(schema);
    for (let n = 1; ; n++) {
      const unique = n === 1 ? name : `${name}_${n}`;
      const known = this.#texts.get(unique);
      if (known === undefined) {
        this.#texts.set(unique, text);
        this.#byName.set(unique, schema);
      } else if (known !== text) continue;
      return { $ref: PREFIX + unique };
    }
  }

  #nameFor({ title, properties }: SchemaObject): string | undefined {
    if (properties === undefined) return undefined;
    const object = properties.object?.const;
    if (title !== undefined || typeof object !== 'string') return title;
    if (object !== 'list') return object;
    const item = properties.data?.items?.$ref;
    return item === undefined ? object : `${nameOf(item)}_list`;
  }

  #convertParts(schema: SchemaObject): SchemaObject {
    const converted: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (FOR_THE_VALIDATOR.has(keyword)) continue;
      if (keyword === 'conditions') {
        converted.allOf = value;
        continue;
      }
      if (MAPS.has(keyword)) {
        converted[keyword] = mapValues(value as Record<string, SchemaObject>, (part) => this.convert(part));
      } else if (LISTS.has(keyword)) {
        converted[keyword] = (value as readonly SchemaObject[]).map((part) => this.convert(part));
      } else if (SINGLE.has(keyword) && typeof value === 'object') {
        converted[keyword] = this.convert(value as SchemaObject);
      } else converted[keyword] = value;
    }
    return foldNull(foldChoice(foldRecord(converted)));
  }
}

/** `discriminator` is ajv's keyword here; OpenAPI's is about references. */
const FOR_THE_VALIDATOR = new Set(['discriminator', '$id', 'whitespace', 'sentence', HANDLE_OF]);
const MAPS = new Set(['properties', 'patternProperties']);
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const SINGLE = new Set(['items', 'additionalProperties', 'not', 'propertyNames']);

/** The description of every id that may be an external id. */
export const ALSO_EXTERNAL = 'An external id is taken as `ext:<external_id>`.';

/** Keeps a place's description: AsyncAPI allows none beside a reference, which becomes a part. */
function withDescription(reference: SchemaObject, { description }: SchemaObject): SchemaObject {
  return description === undefined ? reference : { description, allOf: [reference] };
}

function withMembersSince(schema: SchemaObject, since: MembersSince): SchemaObject {
  const members = Object.entries(since).map(
    ([member, version]) => `\`${member}\` since version \`${version}\``,
  );
  return withSentence(schema, `${members.join(', ')}.`);
}

function withNullBefore(schema: SchemaObject, { version, unless, is }: NullBeforeRule): SchemaObject {
  return withSentence(schema, `Null before version \`${version}\` unless \`${unless}\` is \`${is}\`.`);
}

function withStandIn(schema: SchemaObject, { version }: StandInRule): SchemaObject {
  return withSentence(schema, `Before version \`${version}\` \`<id>@no-address.invalid\` stands for null.`);
}

function withSentence(schema: SchemaObject, sentence: string): SchemaObject {
  const { description } = schema;
  return { ...schema, description: description === undefined ? sentence : `${description} ${sentence}` };
}

/** Removes an `anyOf` if a version knows only one of its choices. */
function foldChoice(schema: SchemaObject): SchemaObject {
  const { anyOf = [], ...rest } = schema;
  return anyOf.length === 1 ? { ...anyOf[0], ...rest } : schema;
}

/** Folds a map, which typebox writes as a pattern that matches every key. */
function foldRecord(schema: SchemaObject): SchemaObject {
  const { patternProperties, ...rest } = schema;
  const [entry, ...others] = Object.entries(patternProperties ?? {});
  if (entry === undefined || others.length > 0 || !/^\^(\.\*|\(\.\*\))\$$/.test(entry[0])) return schema;
  return { ...rest, additionalProperties: entry[1] };
}

/** Folds one type or null into a list of types, which code generators prefer; not a reference. */
function foldNull(schema: SchemaObject): SchemaObject {
  const { anyOf, ...rest } = schema;
  const [value, nothing] = anyOf ?? [];
  if (anyOf?.length !== 2 || value === undefined || nothing?.type !== 'null') return schema;
  if (typeof value.type !== 'string' || value.const !== undefined) return schema;
  const { enum: members, ...others } = value;
  return {
    ...others,
    ...rest,
    type: [value.type, 'null'],
    ...(members === undefined ? {} : { enum: [...members, null] }),
  };
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, to: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, to(value)]));
}
