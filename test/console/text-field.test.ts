/** Keys of input methods, and emoji by their names. */

import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import t from 'tap';
import { Composition } from '../../src/platform/ui/composition.ts';
import { allEmoji, emojiNamed } from '../../src/platform/ui/emoji-list.ts';

const ENTER = { isComposing: false, keyCode: 13 };

t.test('Enter of an input method is not Enter, also where it comes after the composition', async (t) => {
  const composition = new Composition();
  t.notOk(composition.owns(ENTER));
  t.ok(composition.owns({ isComposing: true, keyCode: 13 }));
  t.ok(composition.owns({ isComposing: false, keyCode: 229 }));
  composition.begin();
  t.ok(composition.owns(ENTER));
  composition.end();
  t.ok(composition.owns(ENTER), 'Safari reports the key now');
  await pause(1);
  await setImmediate();
  t.notOk(composition.owns(ENTER));
});

t.test('emoji are found by names first, then by their other words', async (t) => {
  const all = await allEmoji();
  const first = (words: string) => emojiNamed(words, all)[0]?.emoji;
  t.equal(first('tada'), '🎉');
  t.equal(first('celebrate'), undefined);
  t.equal(first('waving hand'), '👋', 'words of a description');
  t.equal(first('no such emoji'), undefined);
  t.equal(emojiNamed('', all), all);
});
