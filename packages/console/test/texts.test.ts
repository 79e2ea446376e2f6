/** The texts of the console: in `texts/` alone, and whole in each language. */

import { join } from 'node:path';
import t from 'tap';
import { readTree } from '../../../test/support/house.ts';
import { shownTexts } from '../../../test/support/shown-texts.ts';
import { texts as administrationDe } from '../texts/administration/de.ts';
import { texts as administrationEn } from '../texts/administration/en.ts';
import { texts as firstDe } from '../texts/de.ts';
import { texts as firstEn } from '../texts/en.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PAGES = ['packages/console', 'packages/ui'];

/** What looks like a text and is none, or is the same in every language, by file. */
const NO_TEXTS: Readonly<Record<string, readonly string[]>> = {
  'packages/console/administration/page.ts': ['There is no page of a section above this component.'],
  'packages/console/administration/parts/audit-head.tsx': [
    'npm run -s admin -- audit export --account',
    '> audit.jsonl && npm run -s admin -- audit verify --file audit.jsonl --head audit-head-',
    '.json',
  ],
  'packages/console/administration/reference.tsx': ['…'],
  'packages/console/administration/use-administration.ts': [
    'There is no administration above this component.',
  ],
  'packages/console/compliance/export-file.tsx': ['npm run -s admin -- export verify --file', '.zip'],
  'packages/console/installation/plot.tsx': ['11px'],
  'packages/console/installation/units.ts': ['ms', 'MB'],
  'packages/console/mail/mail-html.tsx': ['allow-scripts allow-popups allow-popups-to-escape-sandbox'],
  'packages/console/mail/mail-pictures.ts': ['src="'],
  'packages/console/message/message-actions.tsx': ['Delete'],
  'packages/console/notifications/settings/category-channels.tsx': ['order.updated'],
  'packages/console/session/key-form.tsx': ['acc_…'],
  'packages/console/session/session-context.tsx': ['There is no session above this component.'],
  'packages/console/session/sign-in.tsx': ['Carl Customer'],
  'packages/console/widgets/widget-snippet.tsx': ['data-color="', '<script src="', 'async></script>'],
  'packages/ui/data/value.tsx': ['KB'],
  'packages/ui/form/form-context.ts': ['There is no form above this field.'],
  'packages/ui/text/amounts.ts': ['ms', 'min'],
};

t.test('no text is outside of texts/', async (t) => {
  const found = [...readTree(ROOT, PAGES)].flatMap(([path, code]) => {
    if (!/\.tsx?$/.test(path) || /^packages\/\w+\/(test|texts|dist)\//.test(path)) return [];
    const others = shownTexts(code).filter(({ text }) => !NO_TEXTS[path]?.includes(text));
    return others.map(({ line, text }) => `${path}:${line} ${text}`);
  });
  t.strictSame(found, []);
});

t.test('finds a text in a module', async (t) => {
  const found = (code: string) => shownTexts(code).map(({ text }) => text);
  t.strictSame(found('const a = <p>Hi</p>;'), ['Hi']);
  t.strictSame(found("const a = <p>{isNew ? 'hi' : `you ` + b}</p>;"), ['hi', 'you']);
  t.strictSame(found('const a = <B label="hi" class="b c" title={b ? `x` : `up`} />;'), ['hi', 'up']);
  t.strictSame(found("const a = { does: 'jump', at: 'home', other: 'Two words' };"), ['jump', 'Two words']);
  t.strictSame(found("notify('Saved.'); element.querySelector('.a .b c');"), ['Saved.']);
  t.strictSame(found("if (a === 'Enter') b(count + ' new messages');"), ['new messages']);
  t.strictSame(found("import a from 'A b'; const b: 'A b' | 'C' = texts.a;"), []);
});

/** Texts of several words that are the same in both languages. */
const SAME: readonly string[] = [];

t.test('German has each text, and says it in German', async (t) => {
  t.strictSame(differences(firstEn, firstDe), []);
  t.strictSame(differences(administrationEn, administrationDe), []);
  t.strictSame(differences({ a: { b: 'Two words', c: 'x' } }, { a: { b: 'Two words' }, d: '' }), [
    'a.b is English: Two words',
    'a.c is missing',
    'd is too many',
  ]);
  t.strictSame(differences({ a: (b: string) => `of ${b}` }, { a: () => 'von' }), ['a has other parts']);
  t.strictSame(differences({ a: 'one', b: 'two' }, { b: 'zwei', a: 'eins' }), ['a is in another place']);
});

/** Returns how texts differ from the English ones, beside the words. */
function differences(english: object, other: object, path = ''): string[] {
  // Words for names that are English by themselves.
  if (Object.keys(english).length === 0) return [];
  const found: string[] = [];
  const names = new Set([...Object.keys(english), ...Object.keys(other)]);
  const both = Object.keys(english).filter((name) => Object.hasOwn(other, name));
  const order = Object.keys(other).filter((name) => Object.hasOwn(english, name));
  const moved = both.find((name, place) => order[place] !== name);
  if (moved !== undefined) found.push(`${path}${moved} is in another place`);
  for (const name of names) {
    const at = `${path}${name}`;
    const [one, two] = [english, other].map((texts) => (texts as Record<string, unknown>)[name]);
    if (two === undefined) found.push(`${at} is missing`);
    else if (one === undefined) found.push(`${at} is too many`);
    else if (typeof one !== typeof two) found.push(`${at} has another type`);
    else if (typeof one === 'object') found.push(...differences(one as object, two as object, `${at}.`));
    else found.push(...differenceOf(sampleOf(one), sampleOf(two)).map((what) => `${at} ${what}`));
  }
  return found;
}

function differenceOf(english: Sample, other: Sample): string[] {
  if (other.text.trim() === '') return ['is empty'];
  if (`${other.parts}` !== `${english.parts}`) return ['has other parts'];
  const isSame = english.text === other.text && /\p{L}{2,}\s+\p{L}{2,}/u.test(english.text);
  return isSame && !SAME.includes(english.text) ? [`is English: ${english.text}`] : [];
}

interface Sample {
  readonly text: string;
  /** The parameters that are in the text. */
  readonly parts: readonly number[];
}

/** Writes a text, with a number for each parameter. */
function sampleOf(value: unknown): Sample {
  if (typeof value !== 'function') return { text: `${value}`, parts: [] };
  const parameters = Array.from({ length: value.length }, (_, index) => 7001 + index);
  const written: unknown = value(...parameters);
  const text = Array.isArray(written) ? written.flat(Number.POSITIVE_INFINITY).join('') : `${written}`;
  const figures = text.replace(/(?<=\d)[.,](?=\d)/g, '');
  return { text, parts: parameters.filter((parameter) => figures.includes(`${parameter}`)) };
}
