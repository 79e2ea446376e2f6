import { type Static, type TSchema, Type } from 'typebox';
import { MEMBERS_SINCE, type MembersSince } from './since.ts';

/** The schema forms that every resource and body is made of. */

export function Nullable<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

/** A closed set of strings. It gives one error, where a union gives one for each member. */
export function OneOf<const V extends readonly string[]>(values: V, options: Record<string, unknown> = {}) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: [...values], ...options });
}

/** ISO 8601 with offset. Parley writes UTC with microseconds. */
export const Timestamp = Type.String({ format: 'date-time' });

/** The fields with which a resource that has an id begins. */
export function Identity<const O extends string>(object: O) {
  return { id: Type.String(), object: Type.Literal(object) };
}

/** The creation and last change of a resource. */
export const Times = { created_at: Timestamp, updated_at: Timestamp };

/** Free text; white space alone becomes "" in the value (DECISIONS.md#blank-is-empty). */
export function Text(maxLength: number) {
  return Type.String({ maxLength, whitespace: 'blank' });
}

/** Text of any number of lines that is not empty once surrounding white space is removed. */
export function Label(maxLength: number) {
  return Type.String({
    minLength: 1,
    maxLength,
    pattern: '\\S',
    whitespace: 'trimmed',
    sentence: 'Must not be blank.',
  });
}

/**
 * Text that identifies or names something (docs/how-to.md#resources-and-actions): one line without
 * control characters. Surrounding white space is removed, and the rest must not be empty.
 */
export function Line(maxLength: number) {
  return Type.String({
    minLength: 1,
    maxLength,
    pattern: `^${IN_LINE}+$`,
    sentence: LINE_SENTENCE,
    whitespace: 'trimmed',
  });
}

/** A `Line` for which "" counts as none. */
export function LineOrNone(maxLength: number) {
  return Type.String({
    maxLength,
    pattern: `^(?:\\s*|${IN_LINE}+)$`,
    sentence: LINE_SENTENCE,
    whitespace: 'trimmed',
  });
}

const LINE_SENTENCE = 'Must be one line, without control characters.';
const IN_LINE = '[^\\p{Cc}\\p{Zl}\\p{Zp}]';

/** A display name. */
export const Name = Line(200);

/** An id in a body or query. To callers ids are opaque. */
export const Id = Type.String({ maxLength: 64 });

/**
 * The query parameter `include[]`: the sub-objects to expand (docs/contract.md#expansion). `since`:
 * members of later versions, which callers of older ones cannot name.
 */
export function Include<const V extends readonly string[]>(values: V, since?: MembersSince<V[number]>) {
  const member = OneOf(values, since === undefined ? {} : { [MEMBERS_SINCE]: since });
  return Type.Optional(Type.Array(member, { maxItems: 2 * values.length }));
}

/** An object whose unknown fields are refused: every request body and frame. */
export function Body<P extends Record<string, TSchema>>(
  properties: P,
  options: Record<string, unknown> = {},
) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** A body of one of several kinds, which its `type` tells apart. */
export function ByType<const S extends readonly TSchema[]>(kinds: S) {
  return Type.Unsafe<Static<S[number]>>({
    type: 'object',
    discriminator: { propertyName: 'type' },
    required: ['type'],
    oneOf: kinds,
  });
}

/** A combination of fields that is valid, as JSON Schema. */
export interface Alternative {
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly not?: object;
}

/**
 * Declares what the fields of a body demand of each other: one alternative of each list must hold.
 * Documents publish it; the server checks it in code, where a refusal can name the field.
 */
export function demand(schema: object, ...choices: readonly (readonly Alternative[])[]): void {
  Object.assign(schema, { conditions: choices.map((alternatives) => ({ anyOf: alternatives })) });
}

/** Returns an alternative: the field has this value, also by default, and `required` are there. */
export function where(field: string, value: string, ...required: readonly string[]): Alternative {
  return { properties: { [field]: { const: value } }, required };
}

/** Returns the alternative of a field that has the value, or is null or absent. */
export function whereOrNull(field: string, value: string, ...required: readonly string[]): Alternative {
  return { properties: { [field]: { enum: [value, null] } }, required };
}

/** Returns the alternatives of two fields that stand together or not at all. */
export function together(one: string, other: string): readonly Alternative[] {
  return [{ required: [one, other] }, { not: { anyOf: [{ required: [one] }, { required: [other] }] } }];
}

/** The texts of fields that mean the same in every object; a text of their own is optional. */
const COMMON_TEXTS = {
  id: 'Opaque identifier of the resource.',
  created_at: 'When the resource was created.',
  updated_at: 'When the resource was last changed.',
  conversation_id: 'Id of the conversation.',
  message_id: 'Id of the message.',
  avatar_url:
    'Address of the image, which works without a credential until the image is replaced or cleared. Null where there is none.',
  avatar_s3_key:
    'The `s3_key` of an uploaded image of the type `image/png`, `image/jpeg`, `image/gif` or `image/webp`, of 2 MiB at most, that is to be the avatar; null clears it.',
};
type CommonField = keyof typeof COMMON_TEXTS | 'object' | 'type';

/** One text for each field of a schema; a field without one does not compile. */
export type FieldTexts<P> = { readonly [K in Exclude<keyof P, CommonField>]: string } & {
  readonly [K in CommonField & keyof P]?: string;
};

/**
 * Sets the `description` of each field of an object's schema: what it means, when it is required,
 * when it is null. OpenAPI, AsyncAPI and the pages of the documentation show it. Schemas that two
 * fields share are not changed. Call it directly after the schema is made, since schemas that are
 * derived later copy the texts.
 */
export function describe<P extends Record<string, TSchema>>(
  schema: { readonly properties: P },
  texts: FieldTexts<P>,
): void {
  const properties: Record<string, TSchema> = schema.properties;
  for (const [name, property] of Object.entries(properties)) {
    const text = (texts as Readonly<Record<string, string | undefined>>)[name] ?? commonText(name, property);
    if (text !== undefined) properties[name] = described(property, text);
  }
}

function commonText(name: string, property: TSchema): string | undefined {
  if (!('const' in property)) return COMMON_TEXTS[name as keyof typeof COMMON_TEXTS];
  return `${name === 'object' ? 'Type of the resource' : 'Kind of the object'}: always \`${property.const}\`.`;
}

/** Returns a copy with this description, and with the marks that typebox keeps in hidden fields. */
export function described<S extends TSchema>(schema: S, description: string): S {
  const properties = Object.getOwnPropertyDescriptors(schema);
  return Object.defineProperties({} as S, {
    ...properties,
    description: { value: description, enumerable: true },
  });
}
