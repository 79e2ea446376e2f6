/** Everything that the SDK does with conversations, against the real server. */

import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import { type Client, connect } from '../index.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace, vera } = demo.users;

t.test('what all members see', async (t) => {
  const { conversations } = open(t, ada.access_token);
  const { id } = await conversations.create({
    type: 'group',
    title: 'Pier',
    participants: [{ type: 'user', actor_id: grace.id }],
  });
  t.match(await conversations.update(id, { title: 'Quay' }), { title: 'Quay' });
  t.match(await conversations.archive(id), { status: 'archived' });
  t.match(await conversations.unarchive(id), { status: 'active' });
  t.match(await conversations.hold(id, 'Case 12/2026'), { legal_hold: 'held' });
  t.match(await conversations.release(id), { legal_hold: 'released' });
  const participant = await conversations.addParticipant(id, { type: 'user', actor_id: vera.id });
  t.match(participant, { actor: { name: 'Vera Rubin' } });
  t.match(await conversations.updateParticipant(id, participant.id, { role: 'viewer' }), { role: 'viewer' });
  t.match(await conversations.removeParticipant(id, participant.id), { membership: 'removed' });
  const actions: string[] = [];
  for await (const { data } of conversations.audit(id)) actions.push(...data.map(({ action }) => action));
  t.ok(actions.includes('conversation.updated') || actions.length > 5, actions.join());
  t.match(await conversations.delete(id), { id });
  await t.rejects(conversations.get(id), { name: 'ParleyError', code: 'resource_gone', status: 410 });
  t.match(await conversations.restore(id), { id, deleted_at: null });
  t.match(await conversations.get(id, ['participants']), { participants: [{}, {}] });
});

t.test('a case', async (t) => {
  const { conversations } = open(t, ada.access_token);
  const { id } = await conversations.create({
    type: 'group',
    audience: 'customer',
    participants: [{ type: 'customer', name: 'Cleo', email: 'cleo@example.net' }],
  });
  t.match(await conversations.assign(id, ada.id), { assignee_id: ada.id });
  t.match(await conversations.assign(id, null), { assignee_id: null });
  t.match(await conversations.moveTo(id, 'waiting_internal'), { workflow_status: 'waiting_internal' });
  await t.rejects(conversations.moveTo(id, 'new'), { name: 'ParleyError', code: 'resource_conflict' });
  const { participants } = await conversations.get(id, ['participants']);
  const customer = participants!.find(({ type }) => type === 'customer')!.actor_id!;
  t.match(await conversations.block(customer), { scope: 'account', actor: { id: customer } });
  const { value: page } = await conversations.blocks().next();
  t.match(page!.data, [{ actor: { id: customer } }]);
  t.match(await conversations.unblock(customer), { actor: { id: customer } });
  await t.rejects(conversations.unblock(customer), { name: 'ParleyError', code: 'resource_not_found' });
});

t.test('what is the caller’s own', async (t) => {
  const client = open(t, grace.access_token);
  const { conversations } = client;
  const { direct } = demo.conversations;
  const { sequence } = await open(t, ada.access_token).send(direct, 'ahoy');
  t.match(await conversations.markRead(direct, sequence!), { unread: 0 });
  t.match(await conversations.markUnread(direct, sequence!), { unread: 1 });
  t.match(await conversations.markAllRead(), { unread: 0 });
  t.match(await conversations.snooze(direct), { snoozed: true, snoozed_until: null });
  const tomorrow = new Date(Date.now() + 86_400_000);
  t.match(await conversations.snooze(direct, tomorrow), {
    snoozed_until: tomorrow.toISOString().replace('Z', '000Z'),
  });
  t.match(await conversations.unsnooze(direct), { snoozed: false });
  t.match(await conversations.hide(direct), { status: 'hidden' });
  t.match(await conversations.unhide(direct), { status: 'active' });
  await t.rejects(conversations.snooze(direct, '2001-01-01'), { name: 'ParleyError', param: 'until' });
  await t.rejects(conversations.hide('cnv_nothing'), { name: 'ParleyError', code: 'resource_not_found' });
  t.match(await conversations.summary(), { object: 'inbox_summary', snoozed: 0 });
});

t.test('the connection is a live object', async (t) => {
  const client = open(t, grace.access_token);
  const seen: string[] = [];
  client.connection.on('change', ({ what }) => seen.push(what));
  t.match(client.connection.snapshot, { state: 'connecting', transport: null, error: null });
  await until(() => client.connection.snapshot.state === 'live', { what: 'live' });
  t.match(client.connection.snapshot, { transport: 'websocket', error: null });
  t.ok(seen.includes('state') && seen.includes('transport'));
  const wrong = open(t, 'parley_nobody');
  await until(() => wrong.connection.snapshot.error !== null, { what: 'the refusal' });
  t.match(wrong.connection.snapshot, { state: 'offline', error: { reason: 'credential_rejected' } });
});

function open(t: Teardown, token: string): Client {
  const client = connect({ url: app.baseUrl, account: demo.account_id, token, mostWaitMs: 200 });
  t.teardown(() => client.close());
  return client;
}
