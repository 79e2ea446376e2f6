import type { TSchema } from 'typebox';
import { chosen, type Part, type Shape, shapeOf } from '../../contract/protocol/schema/forms.ts';
import { ageOf } from '../../contract/protocol/schema/since.ts';
import { VERSIONS, type Version } from '../../contract/protocol/versions.ts';

/**
 * JSON in which the fields of later versions are marked, so that a node can cut them out for
 * sockets of an older version without parsing. A mark is white space that JSON.stringify never
 * writes and that never stands inside a string: before the marked part a tab and as many spaces as
 * the position of its version in VERSIONS, after it a tab.
 *
 *     {"id":"msg_1","body":null\t  ,"sent_at":null\t}
 *
 * It is still JSON: sockets of the newest version get it unchanged, as soon as the parts are cut
 * that a node of a later release has marked as newer still (`mayHaveUnknown`).
 */
export function markedJson(schema: TSchema, value: unknown): string {
  return write(shapeOf(schema), value);
}

/** Marks a whole text as newer than every older version. */
export function markWhole(since: Version, text: string): string {
  const age = ageOf(since);
  return age === 0 ? text : `${opening(age)}${text}${MARK}`;
}

/** Returns `bytes` without parts newer than `version`: itself if none is, undefined if all is. */
export function cutMarked(version: Version, bytes: Buffer): Buffer | undefined {
  return cutAt(ageOf(version), bytes);
}

/** Returns the JSON of `version` without marks. `bytes` is not marked as a whole. */
export function unmarkedForm(version: Version, bytes: Buffer): string {
  return (cutMarked(version, bytes) ?? bytes).toString().replaceAll(ANY_MARK, '');
}

/**
 * Returns JSON of `value` with the marks of `bytes`, whose objects and lists it has, with other
 * values of their fields. Marks inside a part that is no older are left out, because they are cut
 * with it. `bytes` is not marked as a whole.
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

/** `forms` starts at the oldest version with the value; empty if no mark says anything about it. */
function writeLike(forms: readonly Form[], value: unknown): string {
  if (forms.length === 0 || typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => writeLike(within(forms, index), item)).join(',')}]`;
  }
  const fields = Object.entries(value).map(([name, field]) => {
    const inside = within(forms, name);
    const text = `${JSON.stringify(name)}:${writeLike(inside, field)}`;
    return { age: (inside[0] ?? forms[0]!).age, text };
  });
  const texts = forms.map((form, index) => {
    const own = fields.filter(({ age }) => age === form.age).map(({ text }) => text);
    if (index === 0 || own.length === 0) return own.join(',');
    return `${opening(form.age)},${own.join(',')}${MARK}`;
  });
  return `{${texts.join('')}}`;
}

/** Returns the forms of a field or item, of the versions that have it. */
function within(forms: readonly Form[], key: string | number): Form[] {
  return forms.flatMap(({ age, value }) =>
    typeof value === 'object' && value !== null && Object.hasOwn(value, key)
      ? [{ age, value: (value as Readonly<Record<string | number, unknown>>)[key] }]
      : [],
  );
}

/** Returns the positions of versions that marks open parts of, in ascending order. */
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
  const kept: Buffer[] = [];
  let from = 0;
  while (at !== -1) {
    const spaces = spacesBehind(bytes, at);
    if (spaces <= age) {
      at = bytes.indexOf(TAB, at + 1);
      continue;
    }
    if (at > from) kept.push(bytes.subarray(from, at));
    from = endOf(bytes, at + 1);
    at = bytes.indexOf(TAB, from);
  }
  if (from < bytes.length) kept.push(bytes.subarray(from));
  return kept.length === 0 ? undefined : Buffer.concat(kept);
}

/**
 * Returns whether the bytes may have parts of versions that this node does not know. Only nodes of
 * a later release mark such parts, so frames of other nodes are cut when they arrive
 * (frame-codec.ts), and the code behind that passes the newest form on as it is.
 */
export function mayHaveUnknown(bytes: Buffer): boolean {
  return bytes.indexOf(UNKNOWN) !== -1;
}

const MARK = '\t';
const TAB = 0x09;
const ANY_MARK = /\t */g;
const SPACE = 0x20;

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

function write(shape: Shape | undefined, value: unknown): string {
  if (shape === undefined || typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (shape.kind === 'choice') return write(chosen(shape.byObject, value), value);
  if (shape.kind === 'object') return writeObject(shape, value);
  if (!Array.isArray(value)) return JSON.stringify(value);
  const item = shapeOf(shape.item);
  return `[${value.map((one) => write(item, one)).join(',')}]`;
}

/** Writes plain fields of every version, then parts with newer fields inside, then newer fields. */
function writeObject({ newer, parts }: Shape & { kind: 'object' }, value: object): string {
  const common: Record<string, unknown> = { ...value };
  let tail = '';
  for (let first = 0; first < newer.length; ) {
    const { age } = newer[first]!;
    const marked: Record<string, unknown> = {};
    for (; newer[first]?.age === age; first++) {
      const { name } = newer[first]!;
      marked[name] = common[name];
      common[name] = undefined;
    }
    const fields = writeFields(parts, marked);
    if (fields !== '') tail += `${opening(age)},${fields}${MARK}`;
  }
  const fields = writeFields(parts, common);
  // A marked part begins with a comma, so a field must precede it: resources have at least `object`
  // since their first version.
  return fields === '' ? JSON.stringify(value) : `{${fields}${tail}}`;
}

/** Returns the fields without braces. Removes the parts from `fields`. */
function writeFields(parts: readonly Part[], fields: Record<string, unknown>): string {
  let texts = '';
  for (const { name, schema } of parts) {
    const part = fields[name];
    if (typeof part !== 'object' || part === null) continue;
    fields[name] = undefined;
    texts += `,"${name}":${write(shapeOf(schema), part)}`;
  }
  const plain = JSON.stringify(fields).slice(1, -1);
  return plain === '' ? texts.slice(1) : plain + texts;
}
