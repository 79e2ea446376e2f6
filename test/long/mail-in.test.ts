/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation.
 */

import t from 'tap';
import { mailIn } from '../campaigns/mail-in.ts';

t.test('a slice of the campaign: each mail that came in is one message', async (t) => {
  const { problems, messages, acknowledged } = await mailIn(t, {
    seed: 1,
    mails: 40,
    customers: 7,
    width: 8,
    kills: 1,
  });
  t.strictSame(problems, []);
  t.equal(messages, 40);
  t.equal(acknowledged.http + acknowledged.smtp, 80);
});
