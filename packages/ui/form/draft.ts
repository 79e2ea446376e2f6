import { fieldTime } from '../text/field-time.ts';
import type { FieldShape, Shape } from './shape.ts';

/** The content of a form's fields: texts as they were typed, and nothing for empty ones. */
export type Draft =
  | string
  | boolean
  | undefined
  | readonly Draft[]
  | readonly DraftEntry[]
  | { readonly [name: string]: Draft };

export interface DraftEntry {
  readonly key: string;
  readonly value: Draft;
}

export type GroupDraft = { readonly [name: string]: Draft };

/** Returns the content of fields for a value. */
export function draftOf(shape: Shape, value: unknown): Draft {
  switch (shape.kind) {
    case 'flag':
      return typeof value === 'boolean' ? value : (shape.isOn ?? undefined);
    case 'many':
      return listOf(value).map(String);
    case 'items':
      return listOf(value).map((one) => draftOf(shape.item, one));
    case 'map':
      return Object.entries(recordOf(value)).map(([key, one]) => ({ key, value: draftOf(shape.item, one) }));
    case 'group': {
      const known = recordOf(value);
      return Object.fromEntries(shape.fields.map(({ name, shape }) => [name, draftOf(shape, known[name])]));
    }
    case 'json':
      return value === undefined || value === null ? '' : JSON.stringify(value, null, 2);
    case 'time':
      return typeof value === 'string' ? fieldTime(new Date(value)) : '';
    default:
      return value === undefined || value === null ? '' : String(value);
  }
}

/** Returns a form without the fields that do not go with what the draft has. */
export function shownPart(shape: Shape, draft: GroupDraft): Shape {
  if (shape.kind !== 'group') return shape;
  const fields = shape.fields.filter(({ goesWith = {} }) =>
    Object.entries(goesWith).every(([name, value]) => draft[name] === value),
  );
  return { ...shape, fields };
}

/** Returns the value of a draft; undefined for an empty one. */
export function filledIn(shape: Shape, draft: Draft): unknown {
  switch (shape.kind) {
    case 'flag':
      return draft;
    case 'many':
      return isEmptyList(draft) ? undefined : draft;
    case 'items': {
      const values = listOf(draft).map((one) => filledIn(shape.item, one as Draft));
      const filled = values.filter((one) => one !== undefined);
      return filled.length === 0 ? undefined : filled;
    }
    case 'map': {
      const entries = entriesOf(draft).filter(({ key }) => key !== '');
      if (entries.length === 0) return undefined;
      return Object.fromEntries(entries.map(({ key, value }) => [key, filledIn(shape.item, value) ?? '']));
    }
    case 'group': {
      const filled = shape.fields.flatMap((field) => {
        const value = filledIn(field.shape, groupOf(draft)[field.name]) ?? emptyIfRequired(field);
        return value === undefined ? [] : [[field.name, value] as const];
      });
      const isFilled = shape.fields.some(
        ({ name, shape }) => filledIn(shape, groupOf(draft)[name]) !== undefined,
      );
      return isFilled ? Object.fromEntries(filled) : undefined;
    }
    case 'number':
      return draft === '' || draft === undefined ? undefined : Number(draft);
    case 'json':
      return draft === '' || draft === undefined ? undefined : JSON.parse(String(draft));
    case 'time':
      return draft === '' || draft === undefined ? undefined : new Date(String(draft)).toISOString();
    default:
      return draft === '' ? undefined : draft;
  }
}

/** Returns a body with everything that was filled in. */
export function newBody(shape: Shape, draft: Draft): object {
  const value = filledIn(shape, draft) ?? {};
  return { ...requiredOnes(shape, draft), ...(value as object) };
}

/** Returns what the fields say so far, as far as it can be read. */
export function shownValue(shape: Shape, draft: Draft): unknown {
  try {
    return filledIn(shape, draft);
  } catch {
    return undefined;
  }
}

/** Returns the required lists, objects and nullable fields, which are sent although empty. */
function requiredOnes(shape: Shape, draft: Draft): object {
  if (shape.kind !== 'group') return {};
  const empty = shape.fields.flatMap((field) => {
    if (filledIn(field.shape, groupOf(draft)[field.name]) !== undefined) return [];
    const value = emptyIfRequired(field);
    return value === undefined ? [] : [[field.name, value] as const];
  });
  return Object.fromEntries(empty);
}

function emptyIfRequired({ required, shape }: FieldShape): unknown {
  if (!required) return undefined;
  return shape.nullable ? null : EMPTY[shape.kind];
}

/**
 * Returns the fields that differ from those before. An emptied field is null where it takes null,
 * else empty. A nested object is sent as a whole; of a map whose values may be null, which the
 * server merges, only the difference.
 */
export function changesOf(shape: Shape, draft: Draft, before: Draft): object {
  if (shape.kind !== 'group') return {};
  const changed = shape.fields.flatMap(({ name, shape }) => {
    const now = filledIn(shape, groupOf(draft)[name]);
    const was = filledIn(shape, groupOf(before)[name]);
    if (isSame(now, was)) return [];
    return [[name, changeOf(shape, now, was)] as const];
  });
  return Object.fromEntries(changed);
}

function changeOf(shape: Shape, now: unknown, was: unknown): unknown {
  if (shape.kind === 'map' && shape.item.nullable) {
    const gone = Object.keys(recordOf(was)).filter((key) => !(key in recordOf(now)));
    const kept = Object.entries(recordOf(now)).filter(([key, value]) => !isSame(value, recordOf(was)[key]));
    return Object.fromEntries([...kept, ...gone.map((key) => [key, null] as const)]);
  }
  if (now === undefined) return shape.nullable ? null : EMPTY[shape.kind];
  if (shape.kind !== 'group') return now;
  const cleared = shape.fields.flatMap(({ name, shape: part }) => {
    const [is, had] = [recordOf(now)[name], recordOf(was)[name]];
    if (had === undefined || is !== undefined)
      return part.kind === 'group' ? nested(name, part, is, had) : [];
    return [[name, part.nullable ? null : EMPTY[part.kind]] as const];
  });
  return { ...recordOf(now), ...Object.fromEntries(cleared) };
}

function nested(name: string, shape: Shape, now: unknown, was: unknown) {
  return now === undefined ? [] : [[name, changeOf(shape, now, was)] as const];
}

const EMPTY: Readonly<Record<Shape['kind'], unknown>> = {
  text: '',
  long: '',
  secret: '',
  one: '',
  number: undefined,
  time: undefined,
  json: undefined,
  flag: false,
  many: [],
  items: [],
  map: {},
  group: {},
};

export function groupOf(draft: Draft): GroupDraft {
  return typeof draft === 'object' && !Array.isArray(draft) ? (draft as GroupDraft) : {};
}

export function itemsOf(draft: Draft): readonly Draft[] {
  return listOf(draft) as readonly Draft[];
}

export function entriesOf(draft: Draft): readonly DraftEntry[] {
  return listOf(draft) as readonly DraftEntry[];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
}

function isEmptyList(draft: Draft): boolean {
  return listOf(draft).length === 0;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
