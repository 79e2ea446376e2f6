import {
  type Aged,
  chosen,
  type Field,
  isNulled,
  isPersonal,
  isStoodIn,
  type Newer,
  type Personal,
  type Shape,
  shapeOf,
} from '@parley/protocol/forms/forms.ts';
import { isExactNumber } from '@parley/protocol/json/exact-json.ts';
import { addressless } from '@parley/protocol/schema/addresses.ts';
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
 * The own id of an actor is a part of its own too, and the address of a person has a space before
 * its name, so that null can take their places for readers that do not see them
 * (`withoutPersonal`).
 *
 *     {"object":"actor", "handle":"ada@example.com","role":null\t    ,"external_id":"4711"\t}
 *
 * Where older versions have an address that stands for none, null is a part right behind the id,
 * with the space of a field that older versions have otherwise.
 *
 *     {"id":"act_1"\t    ,"email":null \t,"object":"user"}
 *
 * It is still JSON: sockets of the newest version get it unchanged, once parts that a node of a
 * later release has marked as newer still are cut (`mayHaveUnknown`).
 */
export function markedJson(schema: TSchema, value: unknown): Buffer {
  const into = JsonBytes.begin();
  write(into, shapeOf(schema), value, STORED);
  return into.end();
}

/** What becomes of what not every reader sees. */
interface Writing {
  /** Whether own ids of actors are written; if not, null. */
  readonly hasOwnIds: boolean;
  /** Whether the addresses of people are marked. */
  readonly marksHandles: boolean;
}

/** The answer to one caller, who sees what it has. */
const STORED: Writing = { hasOwnIds: true, marksHandles: false };
const FOR_TEAM: Writing = { hasOwnIds: true, marksHandles: true };
const FOR_CUSTOMERS: Writing = { hasOwnIds: false, marksHandles: true };

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
  write(into, shapeOf(schema), value, hasOwnIds ? FOR_TEAM : FOR_CUSTOMERS);
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

/** What readers do not see of other actors. */
export type Hidden = 'own ids' | 'handles';

/**
 * Returns `bytes` with null in place of what is hidden: unchanged if there is nothing of it. Does
 * not parse, as `cutMarked` does not.
 */
export function withoutPersonal(hidden: readonly Hidden[], bytes: Buffer): Buffer {
  return hidden.reduce((kept, each) => withoutValues(BEGINNINGS[each], kept), bytes);
}

function withoutValues(beginning: Buffer, bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = bytes.indexOf(beginning); at !== -1; at = bytes.indexOf(beginning, from)) {
    const value = at + beginning.length;
    parts.push(bytes.subarray(from, value), NULL);
    from = endOfText(bytes, value);
  }
  return from === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(from)]);
}

/** Returns the position behind a text or null. */
function endOfText(bytes: Buffer, from: number): number {
  if (bytes[from] !== QUOTE) return from + NULL.length;
  let at = from + 1;
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
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
      if (bytes[value] === NULL[0]) {
        // It is longer than the part, and stored answers alone have it.
        const before = cut!.subarray(0, length);
        cut = Buffer.concat([before, standInAfter(bytes, at), Buffer.allocUnsafe(bytes.length)]);
        length = cut.length - bytes.length;
      } else length += cut!.write('null', length);
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
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The text before the address of a person. JSON.stringify writes no space before a name. */
const HANDLE = ', "handle":';
const UNMARKED_HANDLE = ',"handle":';
/**
 * The beginnings of what some readers do not see. No other field of its version has these names.
 */
const BEGINNINGS: Readonly<Record<Hidden, Buffer>> = {
  'own ids': Buffer.from(`${opening(ageOf(ACTORS_OWN_ID_SINCE))},"external_id":`),
  handles: Buffer.from(HANDLE),
};
const NULL = Buffer.from('null');

/** The beginning of every mark that opens a part of a later version. */
const UNKNOWN = Buffer.from(opening(VERSIONS.length));

/** Returns the JSON of the address that stands for none for the id that ends before `at`. */
function standInAfter(bytes: Buffer, at: number): Buffer {
  const from = bytes.lastIndexOf(QUOTE, at - 2) + 1;
  return Buffer.from(JSON.stringify(addressless(bytes.toString('latin1', from, at - 1))));
}

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

function write(into: JsonBytes, shape: Shape | undefined, value: unknown, as: Writing): void {
  if (shape === undefined || !isObject(value)) into.add(JSON.stringify(value));
  else if (shape.kind === 'choice') write(into, chosen(shape.byObject, value), value, as);
  else if (shape.kind === 'object') writeObject(into, shape, value as Readonly<Record<string, unknown>>, as);
  else if (Array.isArray(value)) writeList(into, shapeOf(shape.item), value, as);
  else into.add(JSON.stringify(value));
}

function writeList(into: JsonBytes, item: Shape | undefined, list: readonly unknown[], as: Writing): void {
  into.add('[');
  for (const [index, one] of list.entries()) {
    if (index > 0) into.add(',');
    write(into, item, one, as);
  }
  into.add(']');
}

/**
 * Writes plain fields of every version, addresses of people among them, then parts with newer
 * fields inside, newer fields, own ids of actors, and fields that older versions have as null.
 */
function writeObject(
  into: JsonBytes,
  { newer, parts, personal, nulled, standIns }: Shape & { kind: 'object' },
  value: Readonly<Record<string, unknown>>,
  as: Writing,
): void {
  const nulls = nulled.filter((one) => isNulled(one, value));
  const own = personal.filter((one) => isMarked(one, value, as));
  const stoodIn = standIns.filter((one) => isStoodIn(one, value));
  if (nulls.length + newer.length + own.length + stoodIn.length + parts.length === 0) {
    into.add(JSON.stringify(value));
    return;
  }
  const common = { ...value };
  for (const { name } of nulls) common[name] = undefined;
  for (const { name, sight } of own) if (sight === 'seesOwnIds') common[name] = undefined;
  if (stoodIn.length > 0) {
    into.add(`{"id":${JSON.stringify(value.id)}`);
    common.id = undefined;
    for (const one of stoodIn) {
      writePart(into, one, null, NULLED_MARK);
      common[one.name] = undefined;
    }
  }
  for (const { name } of parts) if (isObject(common[name])) common[name] = undefined;
  for (const { fields } of newer) for (const { name } of fields) common[name] = undefined;
  // The other fields follow inside the braces. A comma precedes each, so a field must stand there:
  // resources have at least `object` since their first version.
  const plain = JSON.stringify(common);
  // It keeps its place, as readers compare texts; only plain values precede it.
  const hasHandle = own.some(({ sight }) => sight === 'seesHandles');
  const text = hasHandle ? plain.replace(UNMARKED_HANDLE, HANDLE) : plain;
  into.add(stoodIn.length > 0 ? `,${text.slice(1)}` : text);
  into.takeBack(1);
  for (const part of parts) {
    if (!part.isNewer && isObject(value[part.name])) writeField(into, part, value[part.name], as);
  }
  for (const one of newer) writeNewer(into, one, value, as);
  for (const one of own) {
    if (one.sight === 'seesOwnIds') writePart(into, one, as.hasOwnIds ? value[one.name] : null, MARK);
  }
  for (const one of nulls) writePart(into, one, value[one.name], NULLED_MARK);
  into.add('}');
}

/** Returns whether a field of an object stands apart, for readers that do not see it. */
function isMarked(one: Personal, value: Readonly<Record<string, unknown>>, as: Writing): boolean {
  if (one.sight === 'seesOwnIds') return value[one.name] !== undefined;
  return as.marksHandles && typeof value[one.name] === 'string' && isPersonal(one, value);
}

/** Writes the fields of one version: plain ones, then parts. Writes no mark if none has a value. */
function writeNewer(
  into: JsonBytes,
  { age, fields }: Newer,
  value: Readonly<Record<string, unknown>>,
  as: Writing,
): void {
  let isOpen = false;
  for (const areParts of [false, true]) {
    for (const field of fields) {
      const one = value[field.name];
      if (one === undefined || (field.schema !== undefined && isObject(one)) !== areParts) continue;
      if (!isOpen) into.add(opening(age));
      isOpen = true;
      writeField(into, field, one, as);
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

function writeField(into: JsonBytes, { key, schema }: Field, value: unknown, as: Writing): void {
  into.add(key);
  write(into, schema && shapeOf(schema), value, as);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isExactNumber(value);
}
