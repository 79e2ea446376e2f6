/** Keys of input methods, and emoji by their names. */

import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import t from 'tap';
import './english.ts';
import { keyPress } from '../../../test/support/key-press.ts';
import { allEmoji, emojiNamed } from '../choices/emoji-list.ts';
import { followCompositions, pressedKey } from '../typing/pressed-key.ts';

t.test('a key of an input method is none, also where it comes after the composition', async (t) => {
  const page = new EventTarget();
  followCompositions(page);
  for (const key of ['Enter', 'Escape', 'ArrowDown', 'Tab', 'n']) {
    const pressed = (more: object = {}) => pressedKey(keyPress(key, '', more));
    t.equal(pressed(), key);
    t.equal(pressed({ isComposing: true }), '');
    t.equal(pressed({ keyCode: 229 }), '');
    page.dispatchEvent(new Event('compositionstart'));
    t.equal(pressed(), '');
    page.dispatchEvent(new Event('compositionend'));
    t.equal(pressed(), '', 'Safari reports the key now');
    await pause(1);
    await setImmediate();
    t.equal(pressed(), key);
  }
});

t.test('emoji are found by names first, then by their other words', async (t) => {
  const all = await allEmoji();
  const first = (words: string) => emojiNamed(words, all)[0]?.emoji;
  t.equal(first('tada'), '🎉');
  t.equal(first('celebrate'), undefined);
  t.equal(first('waving hand'), '👋', 'words of a description');
  t.equal(first('no such emoji'), undefined);
  t.equal(first('Réunion'), '🇷🇪', 'accents do not count');
  t.equal(emojiNamed('', all), all);
});
