/** A page without words for failures, such as the widget, shows the messages of errors. */

import t from 'tap';
import { failureText } from '../texts/failure-text.ts';

t.test('an error has its message, with or without a code', async (t) => {
  const taken = Object.assign(new Error('This slug is taken.'), { code: 'resource_conflict' });
  t.equal(failureText(taken), 'This slug is taken.');
  t.equal(failureText(new Error('No network.')), 'No network.');
  t.equal(failureText({ code: 'not_found', message: 'No such case.' }), 'No such case.');
});

t.test('what is no error is shown as a text', async (t) => {
  for (const thrown of ['cut off', null, undefined, 7]) t.equal(failureText(thrown), String(thrown));
});
