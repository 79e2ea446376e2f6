import { Ajv, type ErrorObject as AjvError } from 'ajv';
import addFormats from 'ajv-formats';
import type { Static, TSchema } from 'typebox';
import { ApiError, missingField, repeated } from '../errors/errors.ts';
import { isExactNumber, parseExact } from '../json/exact-json.ts';
import { HANDLE_OF, STAND_IN_BEFORE } from '../schema/addresses.ts';
import { ID_BY, ID_OF } from '../schema/external-ids.ts';
import { isDateTime, isEmail, isMediaType } from '../schema/formats.ts';
import { MEMBERS_SINCE, NULL_BEFORE, OPTIONAL_SINCE, SINCE } from '../schema/since.ts';
import { constraintSentence } from './constraint-sentences.ts';
import { nameMeant } from './nearest-name.ts';

/** Returns the typed value, or throws an ApiError (docs/contract.md#values-and-their-errors). */
export type Validator<T> = (value: unknown) => T;

/**
 * Compiles a validator for request bodies and socket frames. An optional field that is null counts
 * as absent and is removed from `value`, at any depth, unless the schema accepts null.
 * `nullClears`: the body states only the changes of a resource, so null clears a field, or is
 * refused if the field does not accept null. Objects and lists in it may be sent back as answers
 * show them, with nulls that count as absent. White space is removed as the schema says. Throws
 * ApiError `missing_field`, `invalid_format` or `validation_failed`, with a `param` such as
 * `attachments[0].url`.
 *
 * Of several problems it always reports the same one: an object's missing fields come first, then
 * its unknown fields, then the values of known fields in the order of the schema.
 */
export function compile<S extends TSchema>(
  schema: S,
  { nullClears = false }: { readonly nullClears?: boolean } = {},
): Validator<Static<S>> {
  const check = ajv.compile<Static<S>>(schema);
  return (value) => {
    if (check(value)) return value;
    // Nulls that count as absent are rare, so valid bodies do not pay for the search.
    if (removeNulls(schema, value, nullClears) && check(value)) return value;
    throw bodyError(check.errors ?? [], value, nullClears);
  };
}

/**
 * Compiles a validator for query parameters as parseQuery (api/pipeline/query.ts) reads
 * them: text, or lists of text under names that end in `[]`. Numbers and booleans are converted if
 * the schema asks for them. A parameter that is an object has its fields under `name[field]`.
 * Throws ApiError `parameter_missing`, `parameter_unknown` or `parameter_invalid`.
 */
export function compileQuery<S extends TSchema>(schema: S): Validator<Static<S>> {
  const check = ajv.compile<Static<S>>(schema);
  const properties = Object.entries((schema as JsonSchema).properties ?? {});
  const objects = properties.flatMap(([name, { type }]) => (type === 'object' ? name : []));
  const conversions = properties.flatMap(([name, property]) => {
    const convert = CONVERSIONS.get(property.type);
    return convert === undefined ? [] : [{ name, convert }];
  });
  return (value) => {
    const query = value as Record<string, unknown>;
    for (const name of objects) gatherFields(query, name);
    for (const { name, convert } of conversions) {
      const text = query[name];
      if (typeof text === 'string') query[name] = convert(text);
    }
    if (check(query)) return query;
    throw queryError(check.errors ?? [], objects);
  };
}

/**
 * Returns the JSON object in a body or frame. Text that is not JSON, not an object or nested too
 * deeply throws ApiError `invalid_format` (param null). So does a string with U+0000 or a lone
 * surrogate, which Postgres cannot store (param names it). `keepsDigits` as in exact-json.ts.
 */
export function parseObject(text: string, keepsDigits = false): Record<string, unknown> {
  const value = parseJson(text, keepsDigits ? parseExact : JSON.parse);
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isExactNumber(value)) {
    throw new ApiError('invalid_format', 'Expected a JSON object.');
  }
  // In valid UTF-8 neither can occur in JSON except as an escape.
  if (text.includes('\\u')) requireCleanStrings(value, '');
  return value as Record<string, unknown>;
}

/** Returns whether Postgres can store the text: it has no U+0000 and no lone surrogate. */
export function isCleanText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

const MAX_DEPTH = 100;

/** The parts of JSON Schema that this file reads. */
interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly discriminator?: { readonly propertyName: string };
}

const ajv = new Ajv({
  discriminator: true,
  strictTypes: false,
  strictTuples: false,
  allowUnionTypes: true,
  // All schemas are of this code, and every start would compile the schema of schemas.
  meta: false,
  validateSchema: false,
  // For documents and for sentences to people (schema.ts).
  keywords: ['conditions', 'sentence'],
  // Sentences and suggestions are made from the schema and the value of an error.
  verbose: true,
});
addFormats.default(ajv);
ajv.addKeyword(SINCE);
ajv.addKeyword(ID_OF);
ajv.addKeyword(ID_BY);
ajv.addKeyword(MEMBERS_SINCE);
ajv.addKeyword(NULL_BEFORE);
ajv.addKeyword(STAND_IN_BEFORE);
ajv.addKeyword(HANDLE_OF);
ajv.addKeyword(OPTIONAL_SINCE);
ajv.addFormat('date-time', isDateTime);
ajv.addFormat('email', isEmail);
ajv.addFormat('media-type', isMediaType);
// The forms of text in schema.ts. Lengths are those of the stored text.
ajv.addKeyword({
  keyword: 'whitespace',
  type: 'string',
  schemaType: 'string',
  modifying: true,
  before: 'maxLength',
  errors: false,
  compile: (form: 'blank' | 'trimmed') => (text: string, place) => {
    const kept = form === 'trimmed' || !/\S/.test(text) ? text.trim() : text;
    if (kept !== text && place !== undefined) place.parentData[place.parentDataProperty] = kept;
    return true;
  },
});

const CONVERSIONS = new Map<JsonSchema['type'], (text: string) => unknown>([
  ['integer', (text) => (INTEGER.test(text) ? Number(text) : text)],
  ['number', (text) => (NUMBER.test(text) ? Number(text) : text)],
  ['boolean', (text) => (text === 'true' ? true : text === 'false' ? false : text)],
]);
/** Integers of any length: inexact ones are above every maximum. */
const INTEGER = /^-?\d+$/;
const NUMBER = /^-?\d{1,15}(?:\.\d{1,15})?$/;

function parseJson(text: string, parse: (text: string) => unknown): unknown {
  if (isTooDeep(text)) throw new ApiError('invalid_format', `Nested more than ${MAX_DEPTH} levels deep.`);
  try {
    return parse(text);
  } catch (cause) {
    throw new ApiError('invalid_format', `Not valid JSON${placeText(breakAt(text, cause), text)}.`, {
      cause,
    });
  }
}

function placeText(at: number | undefined, { length }: string): string {
  if (at === undefined) return '';
  return at === length ? `: it ends too early, at position ${at}` : ` at position ${at}`;
}

/**
 * Returns the index of the first character that cannot occur there in any JSON text; undefined for
 * long texts, where the search would take too long. V8 does not report the place of every broken
 * token. If it does not, the text is cut shorter and longer until the place is found: the end of
 * the longest prefix that could still continue as JSON.
 */
function breakAt(text: string, error: unknown): number | undefined {
  const named = namedBreak(text, error);
  if (named !== undefined) return named;
  if (text.length > MAX_SEARCHED) return undefined;
  let [whole, broken] = [0, text.length];
  while (broken - whole > 1) {
    const middle = (whole + broken) >>> 1;
    if (couldGoOn(text.slice(0, middle))) whole = middle;
    else broken = middle;
  }
  return whole;
}

/** A dozen attempts at a text of this length take less than a millisecond. */
const MAX_SEARCHED = 4_096;

function couldGoOn(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    return namedBreak(text, error) === text.length;
  }
}

/** Returns the place in V8's message, if any: text that it quotes never stands at its end. */
function namedBreak(text: string, error: unknown): number | undefined {
  const { message } = error as SyntaxError;
  if (message === 'Unexpected end of JSON input') return text.length;
  const position = / JSON at position (\d+) \(line \d+ column \d+\)$/.exec(message)?.[1];
  return position === undefined ? undefined : Number(position);
}

/** Checks the nesting before later walks recurse. Few texts need a closer look. */
function isTooDeep(text: string): boolean {
  if (countUpTo(MAX_DEPTH + 1, text, '[') + countUpTo(MAX_DEPTH + 1, text, '{') <= MAX_DEPTH) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === BACKSLASH) i += 1;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth -= 1;
  }
  return false;
}

const [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [
  ...Buffer.from('"\\[]{}'),
] as [number, number, number, number, number, number];

function countUpTo(most: number, text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1 && count < most; at = text.indexOf(character, at + 1)) {
    count += 1;
  }
  return count;
}

function requireCleanStrings(value: unknown, param: string): void {
  if (typeof value === 'string') {
    if (!isCleanText(value)) throw unclean(param);
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) requireCleanStrings(item, `${param}[${index}]`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, field] of Object.entries(value)) {
      // A name that cannot be stored cannot be shown either.
      if (!isCleanText(name)) throw unclean(param);
      requireCleanStrings(field, fieldOf(param, name));
    }
  }
}

function unclean(param: string): ApiError {
  return wrong('invalid_format', 'Strings must not hold U+0000 or lone surrogates.', param);
}

/** Removes nulls that count as absent: if null clears, only nested ones. Returns whether it did. */
function removeNulls(schema: JsonSchema, value: unknown, nullClears: boolean): boolean {
  if (typeof value !== 'object' || value === null) return false;
  let removed = false;
  if (Array.isArray(value)) {
    if (schema.items !== undefined) {
      for (const item of value) removed = removeNulls(schema.items, item, false) || removed;
    }
  } else {
    const fields = value as Record<string, unknown>;
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      if (!Object.hasOwn(fields, name)) continue;
      if (fields[name] === null && !takesNull(property) && !nullClears) {
        delete fields[name];
        removed = true;
      } else removed = removeNulls(property, fields[name], false) || removed;
    }
    const { properties = {}, additionalProperties: others } = schema;
    for (const name of typeof others === 'object' && !takesNull(others) ? Object.keys(fields) : []) {
      if (fields[name] !== null || Object.hasOwn(properties, name)) continue;
      delete fields[name];
      removed = true;
    }
  }
  for (const part of partsOf(schema)) removed = removeNulls(part, value, nullClears) || removed;
  return removed;
}

function takesNull(schema: JsonSchema): boolean {
  if (schema.const !== undefined) return schema.const === null;
  if (schema.enum !== undefined) return schema.enum.includes(null);
  if (schema.type !== undefined) return schema.type === 'null' || schema.type.includes('null');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.some(takesNull);
  return schema.allOf?.every(takesNull) ?? true;
}

function partsOf({ anyOf = [], oneOf = [], allOf = [] }: JsonSchema): readonly JsonSchema[] {
  return anyOf.length + oneOf.length + allOf.length === 0 ? NONE : [...anyOf, ...oneOf, ...allOf];
}
const NONE: readonly JsonSchema[] = [];

function bodyError(errors: readonly AjvError[], root: unknown, nullClears: boolean): ApiError {
  const error = mostTelling(errors);
  const at = pathOf(error.instancePath, root);
  if (nullClears && error.data === null && !at.endsWith(']')) {
    return missingField(at, 'This field cannot be null. Leave it out to keep its value.');
  }
  switch (error.keyword) {
    case 'required':
    case 'dependentRequired':
      return missing(
        fieldOf(at, error.params.missingProperty),
        choicesOf(error, error.params.missingProperty),
      );
    case 'additionalProperties':
      return unknownField(error, error.params.additionalProperty, at);
    case 'unevaluatedProperties':
      return unknownField(error, error.params.unevaluatedProperty, at);
    case 'discriminator':
      return tagError(error, fieldOf(at, error.params.tag));
    case 'type':
    case 'format':
      return wrong('invalid_format', constraintSentence(error), at);
    case 'uniqueItems':
      return repeated(`${at}[${repetitionIn(error.data as readonly unknown[])}]`);
    default:
      return wrong('validation_failed', constraintSentence(error), at);
  }
}

/** Replaces `name[field]` by an object under `name`. */
function gatherFields(query: Record<string, unknown>, name: string): void {
  if (name in query) return;
  const fields: Record<string, unknown> = Object.create(null);
  for (const long of Object.keys(query)) {
    const field = long.startsWith(`${name}[`) && long.endsWith(']') ? long.slice(name.length + 1, -1) : '';
    if (field === '') continue;
    fields[field] = query[long];
    delete query[long];
    query[name] = fields;
  }
}

function queryError(errors: readonly AjvError[], objects: readonly string[]): ApiError {
  const error = mostTelling(errors);
  if (error.keyword === 'required') {
    const param = error.params.missingProperty;
    return new ApiError('parameter_missing', 'This parameter is required.', { param });
  }
  if (error.keyword === 'additionalProperties') {
    const name: string = error.params.additionalProperty;
    const message = `There is no such parameter here.${suggestion(error, name)}`;
    return new ApiError('parameter_unknown', message, { param: shorten(name) });
  }
  const [name = null, field] = segmentsOf(error.instancePath);
  const isObject = name !== null && objects.includes(name);
  const param = isObject && field !== undefined ? `${name}[${shorten(field)}]` : name;
  if (isObject && field === undefined && error.keyword === 'type') {
    const message = `Send ${name}[key]=value.`;
    return new ApiError('parameter_invalid', message, { param });
  }
  const isRepeated = error.keyword === 'type' && Array.isArray(error.data);
  const message = isRepeated ? 'This parameter takes one value.' : constraintSentence(error);
  return new ApiError('parameter_invalid', message, { param });
}

/** Returns the error of the branch that matched furthest, else the first but that of null. */
function mostTelling(errors: readonly AjvError[]): AjvError {
  const [first, ...others] = errors;
  if (first === undefined) throw new Error('the validator refused without saying why');
  return others.reduce((best, error) => (isWithin(error, best) ? error : best), first);
}

/** Returns whether the error is about a part of the other error's value. */
function isWithin({ instancePath: inner }: AjvError, { instancePath: outer }: AjvError): boolean {
  return inner.startsWith(outer) && inner.split('/').length > outer.split('/').length;
}

/** Returns the index of the first item that repeats an earlier one. */
function repetitionIn(list: readonly unknown[]): number {
  const texts = list.map((item) => JSON.stringify(item));
  return texts.findIndex((text, index) => texts.indexOf(text) < index);
}

/** Returns the error for a choice's tag, such as `type`, that is null, no string, or unknown. */
function tagError(error: AjvError, param: string): ApiError {
  const { tag, tagValue } = error.params;
  const allowed = tagsOf(error, tag);
  if (tagValue === undefined || tagValue === null) return missing(param, allowed);
  if (error.params.error === 'tag') return wrong('invalid_format', 'Must be a string.', param);
  return new ApiError('validation_failed', `Must be one of: ${allowed.join(', ')}.`, { param });
}

/** Returns the values of the field in the branches of a choice; none if they share one. */
function tagsOf({ parentSchema }: AjvError, field: string): string[] {
  const { discriminator, oneOf = [] } = parentSchema as JsonSchema;
  if (discriminator?.propertyName !== field) return [];
  return oneOf.map(({ properties }) => String(properties?.[field]?.const));
}

/** Returns the values that a field may have, if the schema lists them. */
function choicesOf(error: AjvError, field: string): readonly string[] {
  const tags = tagsOf(error, field);
  if (tags.length > 0) return tags;
  const { enum: values = [] } = (error.parentSchema as JsonSchema).properties?.[field] ?? {};
  return values.map(String);
}

function missing(param: string, allowed: readonly string[] = []): ApiError {
  const choice = allowed.length === 0 ? '' : ` It must be one of: ${allowed.join(', ')}.`;
  return missingField(param, `This field is required.${choice}`);
}

function unknownField(error: AjvError, name: string, at: string): ApiError {
  const message = `There is no such field here.${suggestion(error, name)}`;
  return new ApiError('validation_failed', message, { param: fieldOf(at, name) });
}

/** Names the field that was probably meant, unless the caller has sent it as well. */
function suggestion({ parentSchema, data }: AjvError, name: string): string {
  const sent = data as Readonly<Record<string, unknown>>;
  const { properties = {} } = parentSchema as JsonSchema;
  const free = Object.keys(properties).filter((known) => !Object.hasOwn(sent, known));
  const meant = nameMeant(name, free);
  return meant === undefined ? '' : ` Did you mean ${meant}?`;
}

function wrong(condition: 'invalid_format' | 'validation_failed', message: string, at: string): ApiError {
  return new ApiError(condition, message, { param: at === '' ? null : at });
}

/** Returns `/attachments/0/url` as `attachments[0].url`; the value decides what is an index. */
function pathOf(instancePath: string, root: unknown): string {
  let path = '';
  let value = root;
  for (const segment of segmentsOf(instancePath)) {
    path = Array.isArray(value) ? `${path}[${segment}]` : fieldOf(path, segment);
    value = (value as Readonly<Record<string, unknown>>)[segment];
  }
  return path;
}

function segmentsOf(instancePath: string): string[] {
  return instancePath
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function fieldOf(parent: string, name: string): string {
  return parent === '' ? shorten(name) : `${parent}.${shorten(name)}`;
}

/** Shows names that callers made up, up to a maximum length. */
function shorten(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}…` : name;
}
