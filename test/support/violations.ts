import { bodyExampleOf, exampleOf } from '../../src/api/documents/openapi/examples.ts';
import type { SchemaObject } from '../../src/api/documents/openapi/schemas.ts';

/** A request body that breaks one rule of its schema, and the answer to it. */
export interface Violation {
  readonly body: unknown;
  /** `400 missing_field name` */
  readonly refusal: string;
}

/**
 * Yields, for every rule of a body's schema, a body that breaks only this rule
 * (docs/contract.md#values-and-their-errors).
 */
export function* bodyViolations(schema: SchemaObject): Iterable<Violation> {
  const valid = bodyExampleOf(schema, () => undefined, '') as Json;
  yield* objectViolations(schema, valid, [], valid);
}

/** Yields query strings that break one rule each, and the answer: `400 parameter_invalid limit`. */
export function* queryViolations(schema: SchemaObject): Iterable<{ query: string; refusal: string }> {
  const properties = Object.entries(schema.properties ?? {});
  const required = properties.filter(([name]) => schema.required?.includes(name));
  const others = (name: string) =>
    required
      .filter(([other]) => other !== name)
      .map(
        ([other, property]) => `&${encodeURIComponent(other)}=${encodeURIComponent(textExample(property))}`,
      )
      .join('');
  yield { query: `unheard_of=1${others('')}`, refusal: '400 parameter_unknown unheard_of' };
  for (const [name] of required) yield { query: others(name), refusal: `400 parameter_missing ${name}` };
  for (const [name, property] of properties) {
    if (name === 'page') continue;
    const item = property.type === 'array' ? (property.items ?? {}) : property;
    for (const bad of badTexts(item)) {
      yield {
        query: `${encodeURIComponent(name)}=${encodeURIComponent(bad)}${others(name)}`,
        refusal: `400 parameter_invalid ${name}`,
      };
    }
  }
}

function textExample(schema: SchemaObject): string {
  return String([exampleOf(schema, () => undefined)].flat()[0]);
}

type Json = Record<string, unknown>;
type Path = readonly (string | number)[];

function* objectViolations(schema: SchemaObject, value: Json, path: Path, root: Json): Iterable<Violation> {
  for (const name of schema.required ?? []) {
    yield { body: without(root, [...path, name]), refusal: `400 missing_field ${textOf([...path, name])}` };
  }
  if (schema.additionalProperties === false) {
    const at = [...path, 'unheard_of'];
    yield { body: withValue(root, at, 1), refusal: `422 validation_failed ${textOf(at)}` };
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const example = value[name] ?? exampleOf(property, () => undefined);
    yield* valueViolations(property, example, [...path, name], root);
  }
}

function* valueViolations(
  schema: SchemaObject,
  example: unknown,
  path: Path,
  root: Json,
): Iterable<Violation> {
  const choice = (schema.anyOf ?? schema.oneOf)?.find(({ type }) => type !== 'null');
  if (choice !== undefined) {
    const inner = example ?? exampleOf(choice, () => undefined);
    // Only a value that fits none of several forms is certain to be refused.
    if ((schema.anyOf ?? schema.oneOf)!.filter(({ type }) => type !== 'null').length > 1) {
      yield { body: withValue(root, path, 1.5), refusal: `400 invalid_format ${textOf(path)}` };
    } else yield* valueViolations(choice, inner, path, root);
    return;
  }
  const at = textOf(path);
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.find((one) => one !== 'null');
  if (type === undefined) return;
  for (const wrong of type === 'integer' ? [WRONG_TYPE[type], 1.5] : [WRONG_TYPE[type]]) {
    yield { body: withValue(root, path, wrong), refusal: `400 invalid_format ${at}` };
  }
  for (const bad of badValues(schema, type, example)) {
    yield {
      body: withValue(root, path, bad),
      refusal: `${schema.format && typeof bad === 'string' && bad === MALFORMED ? '400 invalid_format' : '422 validation_failed'} ${at}`,
    };
  }
  if (type === 'array') yield* arrayViolations(schema, path, root);
  if (type === 'object' && schema.properties !== undefined) {
    const inside = withValue(root, path, example);
    yield* objectViolations(schema, example as Json, path, inside);
  }
}

function* arrayViolations(
  list: SchemaObject & { maxItems?: number; uniqueItems?: boolean },
  path: Path,
  root: Json,
): Iterable<Violation> {
  const { items, maxItems, uniqueItems } = list;
  if (items === undefined) return;
  const item = exampleOf(items, () => undefined);
  if (maxItems !== undefined) {
    // Many items with only their required fields are smaller than the maximum of a body.
    const small = bodyExampleOf(items, () => undefined, '');
    const tooMany = Array.from({ length: maxItems + 1 }, () => small);
    yield { body: withValue(root, path, tooMany), refusal: `422 validation_failed ${textOf(path)}` };
  }
  if (uniqueItems === true) {
    // The list's example may fit if its items have no example.
    const [one = item] = [exampleOf(list, () => undefined)].flat();
    const refusal = `422 validation_failed ${textOf([...path, 1])}`;
    yield { body: withValue(root, path, [one, one]), refusal };
  }
  yield* valueViolations(items, item, [...path, 0], withValue(root, path, [item]));
}

function* badValues(
  schema: SchemaObject & { maximum?: number },
  type: string,
  example: unknown,
): Iterable<unknown> {
  const { maxLength, minLength = 0, minimum, maximum, minItems = 0, pattern, format } = schema;
  if (schema.enum !== undefined) yield 'unheard of';
  if (maxLength !== undefined && schema.enum === undefined && format === undefined)
    yield 'x'.repeat(maxLength + 1);
  if (type === 'string' && minLength > 0) yield '';
  if (pattern !== undefined) yield UNFIT.find((text) => !new RegExp(pattern, 'u').test(text));
  if (format !== undefined) yield MALFORMED;
  if (minimum !== undefined) yield minimum - 1;
  if (maximum !== undefined) yield maximum + 1;
  if (type === 'array' && minItems > 0) yield [];
  if (example === undefined) return;
}

function* badTexts(schema: SchemaObject & { maximum?: number }): Iterable<string> {
  const { maxLength, minimum, maximum, format, type } = schema;
  if (schema.enum !== undefined) yield 'unheard of';
  if (maxLength !== undefined) yield 'x'.repeat(maxLength + 1);
  if (type === 'integer' || type === 'number' || type === 'boolean') yield 'x';
  if (type === 'integer') yield '1.5';
  if (minimum !== undefined) yield `${minimum - 1}`;
  if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) yield `${maximum + 1}`;
  if (format !== undefined) yield MALFORMED;
}

const MALFORMED = '\u0001 malformed';
/** Values that no single pattern matches. */
const UNFIT = ['two\nlines', ' not this ', ' ', 'x', 'y'.repeat(65)];
const WRONG_TYPE: Readonly<Record<string, unknown>> = {
  string: 1,
  integer: 'x',
  number: 'x',
  boolean: 'x',
  array: {},
  object: [],
};

/** Returns a path such as `attachments[0].url`. */
function textOf(path: Path): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
}

function withValue(root: unknown, [first, ...rest]: Path, value: unknown): Json {
  if (first === undefined) return value as Json;
  const copy: Json = Array.isArray(root) ? ([...root] as unknown as Json) : { ...(root as Json) };
  copy[first as string] = withValue(copy[first as string] ?? {}, rest, value);
  return copy;
}

function without(root: unknown, [first, ...rest]: Path): Json {
  const copy: Json = Array.isArray(root) ? ([...root] as unknown as Json) : { ...(root as Json) };
  if (rest.length === 0) delete copy[first as string];
  else copy[first as string] = without(copy[first as string], rest);
  return copy;
}
