import type { JsonSchema, Resolve } from './json-schema.ts';
import { withoutNull } from './json-schema.ts';

/** The input of a person for a schema. */
export type Shape = {
  /** Null clears the field. */
  readonly nullable: boolean;
  readonly help: string;
  readonly schema: JsonSchema;
  /** The content of an untouched flag, as the server takes it. */
  readonly isOn?: boolean;
} & (
  | { readonly kind: 'text' | 'long' | 'secret' | 'number' | 'time' | 'flag' | 'json' }
  | { readonly kind: 'one' | 'many'; readonly options: readonly string[] }
  | { readonly kind: 'items' | 'map'; readonly item: Shape }
  | { readonly kind: 'group'; readonly fields: readonly FieldShape[] }
);

export interface FieldShape {
  readonly name: string;
  readonly required: boolean;
  readonly shape: Shape;
  /** Default: made from the name. */
  readonly label?: string;
  /** Whether it is folded with others that only applications use. */
  readonly isForDevelopers?: boolean;
  /** The values of other fields of the form with which it is shown. Default: any. */
  readonly goesWith?: Readonly<Record<string, string>>;
}

/** Returns the shape of a schema; `name` is its field's. */
export function shapeOf(schema: JsonSchema, resolve: Resolve, name = '', depth = 0): Shape {
  const { nullable, schema: one } = withoutNull(schema, resolve);
  const shared = { nullable, help: helpOf(schema.description ?? one.description), schema: one };
  const types = [one.type].flat();
  const inner = (part: JsonSchema, partName: string) => shapeOf(part, resolve, partName, depth + 1);
  if (one.enum !== undefined) return { ...shared, kind: 'one', options: textsOf(one.enum) };
  if (types.includes('array') && one.items !== undefined) {
    const { schema: item } = withoutNull(one.items, resolve);
    if (item.enum !== undefined) return { ...shared, kind: 'many', options: textsOf(item.enum) };
    return { ...shared, kind: 'items', item: inner(one.items, name) };
  }
  if (depth < MOST_LEVELS && one.properties !== undefined && one.additionalProperties !== true) {
    const required = new Set(one.required);
    const fields = Object.entries(one.properties)
      .filter(([, part]) => part.const === undefined)
      .map(([name, part]) => ({ name, required: required.has(name), shape: inner(part, name) }));
    return { ...shared, kind: 'group', fields };
  }
  if (typeof one.additionalProperties === 'object' && one.properties === undefined) {
    return { ...shared, kind: 'map', item: inner(one.additionalProperties, '') };
  }
  if (types.includes('string')) return { ...shared, kind: textKindOf(one, name) };
  if (types.includes('integer') || types.includes('number')) return { ...shared, kind: 'number' };
  if (types.includes('boolean')) return { ...shared, kind: 'flag' };
  return { ...shared, kind: 'json' };
}

/** Deeper objects are written as JSON. */
const MOST_LEVELS = 6;
/** Texts that may be longer have a field of several lines. */
const MOST_OF_A_LINE = 500;

function textKindOf({ format, maxLength = 0, enum: members }: JsonSchema, name: string) {
  if (format === 'date-time') return 'time';
  if (members === undefined && /(secret|password|_token)$/.test(name)) return 'secret';
  return maxLength > MOST_OF_A_LINE && !/url$/.test(name) ? 'long' : 'text';
}

function textsOf(members: readonly unknown[]): string[] {
  return members.filter((member): member is string => typeof member === 'string');
}

/** Leaves out parts of a description that are for programmers alone. */
function helpOf(description = ''): string {
  return description
    .replace(/\s*(`[^`]+` since version `[^`]+`(, )?)+\.?/g, '')
    .replace(/\s*Since version `[^`]+`\./g, '')
    .replace(/\s*An external id is taken as `[^`]+`\./g, '')
    .trim();
}
