import { skippedTime } from '../text/field-time.ts';
import { uiTexts } from '../texts/ui-texts.ts';
import { type Draft, entriesOf, filledIn, groupOf, itemsOf } from './draft.ts';
import type { Shape } from './shape.ts';

/** The problems of a form: messages by the path of their field, such as `members[1]`. */
export type Problems = ReadonlyMap<string, string>;

/** Returns the problems known without the server: missing and unreadable values. */
export function problemsOf(shape: Shape, draft: Draft): Problems {
  const found = new Map<string, string>();
  look(shape, draft, '', (path, message) => found.set(path, message));
  return found;
}

type Say = (path: string, message: string) => void;

function look(shape: Shape, draft: Draft, path: string, say: Say): void {
  switch (shape.kind) {
    case 'group':
      for (const { name, required, shape: part } of shape.fields) {
        const value = groupOf(draft)[name];
        const at = joined(path, name);
        const isNeeded = required && !part.nullable && TYPED.has(part.kind);
        if (isNeeded && isEmpty(value)) say(at, uiTexts.form.required);
        else if (part.kind !== 'group' || required || isFilled(part, value)) look(part, value, at, say);
      }
      return;
    case 'items':
      for (const [index, item] of itemsOf(draft).entries()) look(shape.item, item, `${path}[${index}]`, say);
      return;
    case 'map':
      for (const { key, value } of entriesOf(draft)) look(shape.item, value, joined(path, key), say);
      return;
    case 'number':
      if (!isEmpty(draft) && Number.isNaN(Number(draft))) say(path, uiTexts.form.notNumber);
      return;
    case 'json':
      if (!isEmpty(draft) && !isJson(String(draft))) say(path, uiTexts.form.notJson);
      return;
    case 'time':
      if (isEmpty(draft)) return;
      if (Number.isNaN(Date.parse(String(draft)))) say(path, uiTexts.form.notTime);
      else if (skippedTime(String(draft)) !== '') say(path, skippedTime(String(draft)));
  }
}

/** Kinds in which emptiness is a mistake; an empty list or object may be meant. */
const TYPED: ReadonlySet<Shape['kind']> = new Set([
  'text',
  'long',
  'secret',
  'one',
  'number',
  'time',
  'json',
]);

function isEmpty(draft: Draft): boolean {
  return draft === undefined || draft === '' || (Array.isArray(draft) && draft.length === 0);
}

function isFilled(shape: Shape, draft: Draft): boolean {
  try {
    return filledIn(shape, draft) !== undefined;
  } catch {
    return true;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the path of the field that shows a problem which the server names: the field itself, else
 * the nearest field around it; undefined if the form has neither.
 */
export function fieldFor(shape: Shape, draft: Draft, param: string | null): string | undefined {
  if (param === null) return undefined;
  const known = new Set(pathsOf(shape, draft, ''));
  let path = param;
  while (path !== '' && !known.has(path)) path = path.replace(/(\.[^.[]*|\[[^[]*\]|^[^.[]+)$/, '');
  return path === '' ? undefined : path;
}

function pathsOf(shape: Shape, draft: Draft, path: string): string[] {
  const here = path === '' ? [] : [path];
  switch (shape.kind) {
    case 'group':
      return here.concat(
        shape.fields.flatMap(({ name, shape }) => pathsOf(shape, groupOf(draft)[name], joined(path, name))),
      );
    case 'items':
      return here.concat(
        itemsOf(draft).flatMap((item, index) => pathsOf(shape.item, item, `${path}[${index}]`)),
      );
    case 'map':
      return here.concat(
        entriesOf(draft).flatMap(({ key, value }) => pathsOf(shape.item, value, joined(path, key))),
      );
    default:
      return here;
  }
}

export function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
