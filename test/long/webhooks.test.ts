/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/mail.
 */

import t from 'tap';
import { webhooks } from '../campaigns/webhooks.ts';

t.test('a slice of the campaign: every event is accepted, and no claim is false', async (t) => {
  const { problems, events, messages, claims } = await webhooks(t, {
    seed: 1,
    events: 300,
    conversations: 4,
    width: 4,
    kills: 1,
  });
  t.strictSame(problems, []);
  t.ok(messages >= 100 && events >= 3 * messages);
  t.ok(claims > 0);
});
