import type { ErrorObject } from 'ajv';

/** Returns one sentence about what a value must be, from the validator's error about it. */
export function constraintSentence({ keyword, params, parentSchema = {} }: ErrorObject): string {
  return SENTENCES[keyword]?.(params, parentSchema) ?? 'The value is not allowed.';
}

const SENTENCES: Readonly<Record<string, (params: Params, schema: Params) => string>> = {
  type: ({ type }) => `Must be ${typeText(type)}.`,
  format: ({ format }) => `Must be a valid ${FORMATS[format] ?? format}.`,
  enum: ({ allowedValues }) => `Must be one of: ${allowedValues.join(', ')}.`,
  const: ({ allowedValue }) => `Must be ${allowedValue}.`,
  minimum: ({ limit }) => `Must be at least ${numberText(limit)}.`,
  maximum: ({ limit }) => `Must be at most ${numberText(limit)}.`,
  exclusiveMinimum: ({ limit }) => `Must be more than ${numberText(limit)}.`,
  exclusiveMaximum: ({ limit }) => `Must be less than ${numberText(limit)}.`,
  multipleOf: ({ multipleOf }) => `Must be a multiple of ${numberText(multipleOf)}.`,
  minLength: ({ limit }, { whitespace }) => {
    if (limit === 1) return whitespace === undefined ? 'Must not be empty.' : 'Must not be blank.';
    return `Must be at least ${countText(limit, 'character')}.`;
  },
  maxLength: ({ limit }) => `Must be at most ${countText(limit, 'character')}.`,
  minItems: ({ limit }) => `Must have at least ${countText(limit, 'item')}.`,
  maxItems: ({ limit }) => `Must have at most ${countText(limit, 'item')}.`,
  uniqueItems: () => 'Must not have the same item twice.',
  minProperties: ({ limit }) => `Must have at least ${countText(limit, 'field')}.`,
  maxProperties: ({ limit }) => `Must have at most ${countText(limit, 'field')}.`,
  pattern: (_, { sentence }) => sentence ?? 'The text does not have the form that is asked for.',
  propertyNames: ({ propertyName }) => `The name ${propertyName} is not allowed.`,
};

type Params = ErrorObject['params'];

/** Returns the words for values of a JSON Schema type, or of one of several types. */
function typeText(type: string | readonly string[]): string {
  const types = typeof type === 'string' ? [type] : type;
  return types.map((name) => TYPES[name] ?? name).join(' or ');
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** Formats of JSON Schema whose name is not a word. */
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'RFC 3339 date-time with an offset',
  email: 'e-mail address',
  'media-type': 'media type',
  uri: 'URI',
};

function countText(count: number, noun: string): string {
  return `${numberText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function numberText(value: number): string {
  return value.toLocaleString('en-US');
}
