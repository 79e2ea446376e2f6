/** Changes without a network: shown at once, they wait for it as messages do. */

import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import { until } from '../../../test/support/until.ts';
import { byId, OpenConversations } from './open-conversations.ts';

const app = await borrowTestApp(t);
const conversations = new OpenConversations(app);

t.test('edits, reactions, deletions and uploads outlast an outage', async (t) => {
  const id = await conversations.group('tunnel');
  const theirs = await conversations.open(t, id, { as: 'grace' });
  const foreign = await theirs.send('Do you read me?');
  let isAway = false;
  let tries = 0;
  const mine = await conversations.open(t, id, {
    mostWaitMs: 20,
    fetch: async (...request) => {
      if (!isAway) return fetch(...request);
      tries += 1;
      throw new TypeError('fetch failed');
    },
  });
  const [edited, deleted] = [await mine.send('ahoi'), await mine.send('not this')];
  const shown = (messageId: string) => byId(mine, messageId);

  isAway = true;
  const refused = mine.edit(foreign.id, 'I never said that');
  const changes = Promise.all([
    mine.edit(edited.id, 'ahoy'),
    mine.react(foreign.id, '👍'),
    mine.delete(deleted.id),
    mine.upload(new Blob(['a map'])),
  ]);
  const refusal = t.rejects(refused, { code: 'insufficient_permissions' });
  t.match(shown(edited.id), { body: 'ahoy', pending: true });
  t.match(shown(foreign.id), { body: 'I never said that', reactions: [{ mine: true }], pending: true });
  t.match(shown(deleted.id), { body: null, pending: true });
  await until(() => tries > 20, { what: 'more tries than those of other requests' });
  for (const message of [edited, foreign, deleted]) {
    t.equal(shown(message.id)?.pending, true, 'nothing is taken back');
  }

  isAway = false;
  await refusal;
  const [, , , file] = await changes;
  t.match(file, { size_bytes: 5 });
  t.match(shown(edited.id), { body: 'ahoy', pending: undefined });
  t.match(shown(foreign.id), { body: 'Do you read me?', reactions: [{ mine: true }], pending: undefined });
  t.match(shown(deleted.id), { body: null, pending: undefined });
  await until(() => byId(theirs, edited.id)?.body === 'ahoy', { what: 'the edit, for the other' });
  await until(() => byId(theirs, deleted.id)?.deleted_at, { what: 'the deletion, for the other' });
});

t.test('an upload whose bytes do not get through waits, and asks for a new address', async (t) => {
  const id = await conversations.group('a tunnel for files');
  const addresses = new Set<string>();
  let isBlocked = true;
  const mine = await conversations.open(t, id, {
    mostWaitMs: 20,
    fetch: async (input, init) => {
      const isPut = init?.method === 'PUT' && !String(input).includes('/v1/messaging/messages');
      if (isPut) addresses.add(String(input));
      if (isPut && isBlocked) throw new TypeError('fetch failed');
      return fetch(input, init);
    },
  });
  const uploading = mine.upload(new Blob(['a map']));
  await until(() => addresses.size > 4, { what: 'more tries than those of other requests' });
  isBlocked = false;
  const file = await uploading;
  t.match(await mine.send({ attachments: [file] }), { attachments: [{ size_bytes: 5 }] });
  isBlocked = true;
  const aborter = new AbortController();
  const aborted = mine.upload(new Blob(['x']), { signal: aborter.signal });
  const before = addresses.size;
  await until(() => addresses.size > before, { what: 'a try' });
  aborter.abort();
  await t.rejects(aborted, { name: 'AbortError' });
});
