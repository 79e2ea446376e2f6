import type { ErrorObject } from 'ajv';

/** Returns one sentence about what a value must be, from the validator's error about it. */
export function constraintSentence({ keyword, params, parentSchema }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `Must be ${typeText(params.type)}.`;
    case 'format':
      return `Must be a valid ${FORMATS[params.format] ?? params.format}.`;
    case 'enum':
      return `Must be one of: ${params.allowedValues.join(', ')}.`;
    case 'const':
      return `Must be ${params.allowedValue}.`;
    case 'minimum':
      return `Must be at least ${numberText(params.limit)}.`;
    case 'maximum':
      return `Must be at most ${numberText(params.limit)}.`;
    case 'exclusiveMinimum':
      return `Must be more than ${numberText(params.limit)}.`;
    case 'exclusiveMaximum':
      return `Must be less than ${numberText(params.limit)}.`;
    case 'multipleOf':
      return `Must be a multiple of ${numberText(params.multipleOf)}.`;
    case 'minLength':
      if (params.limit === 1) {
        return parentSchema?.whitespace === undefined ? 'Must not be empty.' : 'Must not be blank.';
      }
      return `Must be at least ${countText(params.limit, 'character')}.`;
    case 'maxLength':
      return `Must be at most ${countText(params.limit, 'character')}.`;
    case 'minItems':
      return `Must have at least ${countText(params.limit, 'item')}.`;
    case 'maxItems':
      return `Must have at most ${countText(params.limit, 'item')}.`;
    case 'uniqueItems':
      return 'Must not have the same item twice.';
    case 'minProperties':
      return `Must have at least ${countText(params.limit, 'field')}.`;
    case 'maxProperties':
      return `Must have at most ${countText(params.limit, 'field')}.`;
    case 'pattern':
      return parentSchema?.sentence ?? 'The text does not have the form that is asked for.';
    case 'propertyNames':
      return `The name ${params.propertyName} is not allowed.`;
    default:
      return 'The value is not allowed.';
  }
}

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
