/** The texts of the widget: complete in each language, with the same parts. */

import {
  languageOf,
  WIDGET_LANGUAGES,
  type WidgetLanguage,
} from '@parley/protocol/resources/widget-languages.ts';
import t from 'tap';
import { labelsIn } from '../host/labels.ts';
import { ENGLISH, loadTexts } from '../texts/texts.ts';
import type { WidgetTexts } from '../texts/widget-texts.ts';

const english = ENGLISH.texts;
const KEYS = Object.keys(english) as (keyof WidgetTexts)[];

/** Returns what a text lacks in comparison with the English one; none if it is whole. */
function problemsOf(texts: Partial<WidgetTexts>): string[] {
  const problems = Object.keys(texts)
    .filter((key) => !(key in english))
    .map((key) => `${key} is too many`);
  for (const key of KEYS) {
    const own = texts[key];
    if (own === undefined) problems.push(`${key} is missing`);
    else if (typeof own !== typeof english[key]) problems.push(`${key} has other parts`);
    else if (!isWhole(own)) problems.push(`${key} lacks a part`);
  }
  return problems;
}

/** Returns whether a text has words, and each of the names and numbers that are put into it. */
function isWhole(text: WidgetTexts[keyof WidgetTexts]): boolean {
  if (typeof text === 'string') return text.trim() === text && text !== '';
  const parts = text === english.news ? ['Ada', 'Hello'] : ['Ada'];
  const written = (text as (...parts: unknown[]) => string)(...parts);
  return typeof written === 'string' && written.length > 0;
}

t.test('each language has each text, and no other', async (t) => {
  for (const language of WIDGET_LANGUAGES) {
    const { language: loaded, texts } = await loadTexts(language);
    t.equal(loaded, language);
    t.strictSame(problemsOf(texts), [], language);
    for (const key of ['typing', 'uploading', 'uploadAgain', 'removeFile', 'addressSent', 'backAt'] as const)
      t.match(texts[key]('<Ada>'), '<Ada>', `${language} ${key}`);
    t.match(texts.news('<Ada>', '<Hello>'), /<Ada>.*<Hello>/, language);
    for (const label of Object.values(labelsIn(language)))
      t.ok(label, `${language}: a label of the launcher`);
    if (language === 'en') continue;
    const same = KEYS.filter((key) => typeof texts[key] === 'string' && texts[key] === english[key]);
    t.ok(same.length <= 4, `${language} says as English does: ${same}`);
  }
});

t.test('a text that is missing or too many is found', async (t) => {
  const { write: _, ...less } = english;
  t.strictSame(problemsOf(less), ['write is missing']);
  t.strictSame(problemsOf({ ...english, more: 'More' } as WidgetTexts), ['more is too many']);
  t.strictSame(problemsOf({ ...english, send: '' }), ['send lacks a part']);
});

t.test('numbers have the forms of their language', async (t) => {
  const unreadIn = async (language: WidgetLanguage, counts: readonly number[]) => {
    const { texts } = await loadTexts(language);
    return counts.map((count) => texts.unread(count));
  };
  t.strictSame(await unreadIn('en', [1, 2]), ['1 new message', '2 new messages']);
  t.strictSame(await unreadIn('pl', [1, 3, 5]), [
    '1 nowa wiadomość',
    '3 nowe wiadomości',
    '5 nowych wiadomości',
  ]);
  t.strictSame(await unreadIn('fr', [1, 2]), ['1 nouveau message', '2 nouveaux messages']);
  const arabic = await unreadIn('ar', [1, 2, 3, 11]);
  t.equal(new Set(arabic.map((text) => text.replace(/[\d٠-٩]+/, ''))).size, 4);
  for (const language of WIDGET_LANGUAGES) {
    for (const text of await unreadIn(language, [0, 1, 2, 3, 5, 11, 21, 100]))
      t.notMatch(text, '#', language);
  }
});

t.test('the nearest language', async (t) => {
  t.equal(languageOf(['pt-BR', 'en']), 'pt');
  t.equal(languageOf(['zh_Hant_TW']), 'zh');
  t.equal(languageOf(['', 'sv-SE', 'DE']), 'de');
  t.equal(languageOf(['arc']), 'en', 'Aramaic is not Arabic');
  t.equal(languageOf([]), 'en');
});
