import type { SchemaObject } from '../../src/api/documents/openapi/schemas.ts';

/** The least that counts as a description. */
export const THREE_WORDS = /\w+\W+\w+\W+\w+/;

/**
 * Returns the fields of a schema, at any depth, that have no description. Schemas without a type
 * are conditions.
 */
export function muteFields(schema: SchemaObject, at: string): string[] {
  const { properties = {}, items, additionalProperties: values, anyOf = [], oneOf = [] } = schema;
  const inner = [items, values, ...anyOf, ...oneOf].filter((part) => typeof part === 'object');
  return [
    ...Object.entries(properties).flatMap(([name, property]) => [
      ...(THREE_WORDS.test(property.description ?? '') ? [] : [`${at}.${name}`]),
      ...muteFields(property, `${at}.${name}`),
    ]),
    ...inner.filter(({ type }) => type !== undefined).flatMap((part) => muteFields(part, at)),
  ];
}
