/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation.
 */

import t from 'tap';
import { mailOut } from '../campaigns/mail-out.ts';

t.test('a slice of the campaign: every mail arrives, under one Message-ID', async (t) => {
  const { problems, messages, refusedForGood, faults } = await mailOut(t, {
    seed: 1,
    mails: 50,
    cases: 20,
    width: 8,
    kills: 1,
    restarts: false,
    outages: 1,
    trouble: 3,
  });
  t.strictSame(problems, []);
  t.ok(messages >= 50 && refusedForGood > 0);
  t.ok(Object.keys(faults).length > 2);
});
