import { type TSchema, Type } from 'typebox';

/** The handful of schema forms that every resource and body is made of. */

export function Nullable<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

/** A closed set of strings; one error instead of one a member. */
export function OneOf<const V extends readonly string[]>(values: V, options: Record<string, unknown> = {}) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: [...values], ...options });
}

/** ISO 8601 with offset; what Parley writes itself is UTC with microseconds. */
export const Timestamp = Type.String({ format: 'date-time' });

/** What people call something: not blank, on one screen line. */
export const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });

/** The id of something in a body or query. To callers ids are opaque. */
export const Id = Type.String({ maxLength: 64 });

/** The query parameter `include[]`: the sub-objects to expand (specification, Endpoints). */
export function Include<const V extends readonly string[]>(values: V) {
  return Type.Optional(Type.Array(OneOf(values), { maxItems: 2 * values.length }));
}

/** An object whose unknown fields are refused: every request body and frame. */
export function Body<P extends Record<string, TSchema>>(
  properties: P,
  options: Record<string, unknown> = {},
) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}
