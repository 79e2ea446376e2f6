/** What the components take from elsewhere is in the language of the page: emoji and failures. */

import { CLIENT_ERRORS } from '@parley/client/errors/client-error.ts';
import { ERROR_CODES } from '@parley/protocol/errors/error-envelope.ts';
import t from 'tap';
import { allEmoji, emojiNamed } from '../choices/emoji-list.ts';
import { texts as german } from '../texts/de.ts';
import { texts as english } from '../texts/en.ts';
import { failureText } from '../texts/failure-text.ts';
import { wordComponents } from '../texts/ui-texts.ts';

wordComponents(german);

t.test('emoji are found by German words, and by the names that all languages share', async (t) => {
  const all = await allEmoji();
  const first = (words: string) => emojiNamed(words, all)[0]?.emoji;
  t.equal(first('daumen hoch'), '👍');
  t.equal(first('Konfettibombe'), '🎉');
  t.equal(first('+1'), '👍');
  t.equal(first('tada'), '🎉');
  t.equal(first('waving hand'), '👋', 'English descriptions are found too');
  const described = new Map(all.map(({ emoji, description }) => [emoji, description]));
  t.equal(described.get('❤️'), 'rotes Herz');
});

t.test('each failure of the server and of the client has German words', async (t) => {
  const codes = [...ERROR_CODES, ...Object.keys(CLIENT_ERRORS), 'client_closed', 'connection_ended'];
  t.strictSame(Object.keys(german.feedback.failures).sort(), [...new Set(codes)].sort());
  const taken = Object.assign(new Error('This slug is taken.'), { code: 'resource_conflict' });
  t.equal(failureText(taken), 'Das ist im jetzigen Zustand nicht möglich. (This slug is taken.)');
  t.equal(failureText({ code: 'timeout', message: 'Too late.' }), german.feedback.failures.timeout!(''));
  t.equal(failureText(new Error('Of a browser.')), 'Of a browser.');
  t.equal(failureText('a text'), 'a text');
  wordComponents(english);
  t.equal(failureText(taken), 'This slug is taken.');
});
