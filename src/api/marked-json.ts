import {
  type Aged,
  chosen,
  type Field,
  isNulled,
  type Newer,
  type Shape,
  shapeOf,
} from '@parley/protocol/forms/forms.ts';
import { isExactNumber } from '@parley/protocol/json/exact-json.ts';
import { ACTORS_OWN_ID_SINCE } from '@parley/protocol/schema/external-ids.ts';
import { ageOf } from '@parley/protocol/schema/since.ts';
import { VERSIONS, type Version } from '@parley/protocol/versions.ts';
import type { TSchema } from 'typebox';
import { JsonBytes } from '../platform/json-bytes.ts';

/**
 * Returns JSON with marks on parts of later versions, so that a node can cut them for sockets of an
 * older version without parsing. A mark is white space that JSON.stringify never writes and that
 * never stands inside a string: before the marked part a tab and as many spaces as the position of
 * its version in VERSIONS, after it a tab.
 *
 *     {"id":"msg_1","body":null\t  ,"sent_at":null\t}
 *
 * A field that older versions have as null is a part of its own with a space before its last mark:
 * only its value is cut. Nodes that do not know this cut the whole field.
 *
 *     {"object":"actor"\t  ,"avatar_url":"https://…" \t}
 *
 * The own id of an actor is a part of its own too, so that it can be replaced by null for readers
 * that do not see it (`withoutOwnIds`).
 *
 *     {"object":"actor"\t    ,"external_id":"4711"\t}
 *
 * It is still JSON: sockets of the newest version get it unchanged, once parts that a node of a
 * later release has marked as newer still are cut (`mayHaveUnknown`).
 */
export function markedJson(schema: TSchema, value: unknown): Buffer {
  const into = JsonBytes.begin();
  write(into, shapeOf(schema), value, true);
  return into.end();
}

/**
 * Returns `before`, the same JSON and `after` in one buffer, marked as a whole if all of it is
 * newer than every older version; with null in place of the own ids of actors unless `hasOwnIds`.
 */
export function markedWithin(
  [before, after]: readonly [string, string],
  schema: TSchema,
  value: unknown,
  { since = VERSIONS[0], hasOwnIds }: { readonly since?: Version; readonly hasOwnIds: boolean },
): Buffer {
  const age = ageOf(since);
  const into = JsonBytes.begin();
  if (age > 0) into.add(opening(age));
  into.add(before);
  write(into, shapeOf(schema), value, hasOwnIds);
  into.add(after);
  if (age > 0) into.add(MARK);
  return into.end();
}

/** Returns `bytes` without parts newer than `version`: unchanged if none, undefined if all are. */
export function cutMarked(version: Version, bytes: Buffer): Buffer | undefined {
  return cutAt(ageOf(version), bytes);
}

/** Returns the JSON of `version` without marks. `bytes` is not marked as a whole. */
export function unmarkedForm(version: Version, bytes: Buffer): string {
  return (cutMarked(version, bytes) ?? bytes).toString().replaceAll(ANY_MARK, '');
}

/**
 * Returns `bytes` with null in place of the own ids of actors: unchanged if there are none. Does
 * not parse, as `cutMarked` does not.
 */
export function withoutOwnIds(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = bytes.indexOf(OWN_ID); at !== -1; at = bytes.indexOf(OWN_ID, from)) {
    const value = at + OWN_ID.length;
    parts.push(bytes.subarray(from, value), NULL);
    // A tab never stands inside a value.
    from = bytes.indexOf(TAB, value);
  }
  return from === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(from)]);
}

/**
 * Returns JSON of `value`, which has the objects and lists of `bytes` with other values of their
 * fields, with the same marks. Marks inside a part that is no older are left out, because they are
 * cut with it. `bytes` is not marked as a whole.
 */
export function markedLike(bytes: Buffer, value: unknown): string {
  const forms = [0, ...agesIn(bytes)].map((age) => ({ age, value: JSON.parse(`${cutAt(age, bytes)}`) }));
  return writeLike(forms, value);
}

/** The value at one position in VERSIONS. */
interface Form {
  readonly age: number;
  readonly value: unknown;
}

/** Writes `value`. `forms` starts at its oldest version; empty if no mark concerns it. */
function writeLike(forms: readonly Form[], value: unknown): string {
  if (forms.length === 0 || !isObject(value)) return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => writeLike(within(forms, index), item)).join(',')}]`;
  }
  const nulled: string[] = [];
  const fields = Object.entries(value).flatMap(([name, field]) => {
    const inside = within(forms, name);
    const text = `${JSON.stringify(name)}:${writeLike(inside, field)}`;
    const since = inside[0]?.value === null && inside.find(({ value }) => value !== null);
    if (since && field !== null) {
      nulled.push(`${opening(since.age)},${text}${NULLED_MARK}`);
      return [];
    }
    return [{ age: (inside[0] ?? forms[0]!).age, text }];
  });
  const texts = forms.map((form, index) => {
    const own = fields.filter(({ age }) => age === form.age).map(({ text }) => text);
    if (index === 0 || own.length === 0) return own.join(',');
    return `${opening(form.age)},${own.join(',')}${MARK}`;
  });
  return `{${texts.join('')}${nulled.join('')}}`;
}

/** Returns the forms of a field or item, of the versions that have it. */
function within(forms: readonly Form[], key: string | number): Form[] {
  return forms.flatMap(({ age, value }) =>
    typeof value === 'object' && value !== null && Object.hasOwn(value, key)
      ? [{ age, value: (value as Readonly<Record<string | number, unknown>>)[key] }]
      : [],
  );
}

/** Returns the positions of versions that marks open parts for, in ascending order. */
function agesIn(bytes: Buffer): number[] {
  const ages = new Set<number>();
  for (let at = bytes.indexOf(TAB); at !== -1; at = bytes.indexOf(TAB, at + 1)) {
    ages.add(spacesBehind(bytes, at));
  }
  ages.delete(0);
  return [...ages].sort((a, b) => a - b);
}

function cutAt(age: number, bytes: Buffer): Buffer | undefined {
  let at = bytes.indexOf(TAB);
  if (at === -1) return bytes;
  let cut: Buffer | undefined;
  let length = 0;
  let from = 0;
  const keep = (end: number) => {
    if (end === from) return;
    cut ??= Buffer.allocUnsafe(bytes.length);
    length += bytes.copy(cut, length, from, end);
  };
  while (at !== -1) {
    const spaces = spacesBehind(bytes, at);
    if (spaces <= age) {
      at = bytes.indexOf(TAB, at + 1);
      continue;
    }
    keep(at);
    from = endOf(bytes, at + 1);
    if (bytes[from - 2] === SPACE) {
      const value = bytes.indexOf(COLON, at) + 1;
      length += bytes.copy(cut!, length, at + 1 + spaces, value);
      length += cut!.write('null', length);
    }
    at = bytes.indexOf(TAB, from);
  }
  if (from === 0) return bytes;
  keep(bytes.length);
  return cut?.subarray(0, length);
}

/**
 * Returns whether the bytes may have parts of versions that this node does not know. Only nodes of
 * a later release mark such parts. So frames of other nodes are cut when they arrive
 * (frame-codec.ts), and later code passes the newest form on unchanged.
 */
export function mayHaveUnknown(bytes: Buffer): boolean {
  return bytes.indexOf(UNKNOWN) !== -1;
}

const MARK = '\t';
/** Closes a part whose field older versions have as null. */
const NULLED_MARK = ` ${MARK}`;
const TAB = 0x09;
const ANY_MARK = / ?\t */g;
const SPACE = 0x20;
const COLON = 0x3a;

/** The beginning of every own id of an actor. No other field of its version has this name. */
const OWN_ID = Buffer.from(`${opening(ageOf(ACTORS_OWN_ID_SINCE))},"external_id":`);
const NULL = Buffer.from('null');

/** The beginning of every mark that opens a part of a later version. */
const UNKNOWN = Buffer.from(opening(VERSIONS.length));

function opening(age: number): string {
  return MARK + ' '.repeat(age);
}

/** Returns the position in VERSIONS of the part that the mark at `at` opens; 0 if it closes one. */
function spacesBehind(bytes: Buffer, at: number): number {
  let end = at + 1;
  while (bytes[end] === SPACE) end += 1;
  return end - at - 1;
}

/** Returns the position after the mark that closes the part opened before `from`. */
function endOf(bytes: Buffer, from: number): number {
  let open = 1;
  for (let at = bytes.indexOf(TAB, from); at !== -1; at = bytes.indexOf(TAB, at + 1)) {
    open += spacesBehind(bytes, at) > 0 ? 1 : -1;
    if (open === 0) return at + 1;
  }
  throw new RangeError('A mark is not closed.');
}

/** Writes JSON. The own ids of actors are null unless `hasOwnIds`. */
function write(into: JsonBytes, shape: Shape | undefined, value: unknown, hasOwnIds: boolean): void {
  if (shape === undefined || !isObject(value)) into.add(JSON.stringify(value));
  else if (shape.kind === 'choice') write(into, chosen(shape.byObject, value), value, hasOwnIds);
  else if (shape.kind === 'object')
    writeObject(into, shape, value as Readonly<Record<string, unknown>>, hasOwnIds);
  else if (Array.isArray(value)) writeList(into, shapeOf(shape.item), value, hasOwnIds);
  else into.add(JSON.stringify(value));
}

function writeList(
  into: JsonBytes,
  item: Shape | undefined,
  list: readonly unknown[],
  hasOwnIds: boolean,
): void {
  into.add('[');
  for (const [index, one] of list.entries()) {
    if (index > 0) into.add(',');
    write(into, item, one, hasOwnIds);
  }
  into.add(']');
}

/**
 * Writes plain fields of every version, then parts with newer fields inside, newer fields, own ids
 * of actors, and fields that older versions have as null.
 */
function writeObject(
  into: JsonBytes,
  { newer, parts, ownIds, nulled }: Shape & { kind: 'object' },
  value: Readonly<Record<string, unknown>>,
  hasOwnIds: boolean,
): void {
  const nulls = nulled.filter((one) => isNulled(one, value));
  if (nulls.length + newer.length + ownIds.length + parts.length === 0) {
    into.add(JSON.stringify(value));
    return;
  }
  const common = { ...value };
  for (const { name } of nulls) common[name] = undefined;
  for (const { name } of ownIds) common[name] = undefined;
  for (const { name } of parts) if (isObject(common[name])) common[name] = undefined;
  for (const { fields } of newer) for (const { name } of fields) common[name] = undefined;
  // The other fields follow inside the braces. A comma precedes each, so a field must stand there:
  // resources have at least `object` since their first version.
  into.add(JSON.stringify(common));
  into.takeBack(1);
  for (const part of parts) {
    if (!part.isNewer && isObject(value[part.name])) writeField(into, part, value[part.name], hasOwnIds);
  }
  for (const one of newer) writeNewer(into, one, value, hasOwnIds);
  for (const one of ownIds) {
    if (value[one.name] !== undefined) writePart(into, one, hasOwnIds ? value[one.name] : null, MARK);
  }
  for (const one of nulls) writePart(into, one, value[one.name], NULLED_MARK);
  into.add('}');
}

/** Writes the fields of one version: plain ones, then parts. Writes no mark if none has a value. */
function writeNewer(
  into: JsonBytes,
  { age, fields }: Newer,
  value: Readonly<Record<string, unknown>>,
  hasOwnIds: boolean,
): void {
  let isOpen = false;
  for (const areParts of [false, true]) {
    for (const field of fields) {
      const one = value[field.name];
      if (one === undefined || (field.schema !== undefined && isObject(one)) !== areParts) continue;
      if (!isOpen) into.add(opening(age));
      isOpen = true;
      writeField(into, field, one, hasOwnIds);
    }
  }
  if (isOpen) into.add(MARK);
}

/** Writes a field as a part of its own. */
function writePart(into: JsonBytes, { age, key }: Aged, value: unknown, closing: string): void {
  into.add(opening(age));
  into.add(key + JSON.stringify(value));
  into.add(closing);
}

function writeField(into: JsonBytes, { key, schema }: Field, value: unknown, hasOwnIds: boolean): void {
  into.add(key);
  write(into, schema && shapeOf(schema), value, hasOwnIds);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isExactNumber(value);
}
