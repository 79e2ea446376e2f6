/**
 * Hostile texts around conversations: titles, people, reasons, drafts, notifications, searches. The
 * console shows one of each kind in a real browser, and none may run or become an element;
 * xss-incoming.test.ts has all texts on one page.
 *
 * Without influence: OPERATION, packages/client/ai, src/features/cells, src/features/identity,
 * src/features/import, src/features/platform-events.
 */

import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import t from 'tap';
import { Cases } from '../../messages/cases.ts';
import { until } from '../../support/until.ts';
import { XSS_KINDS } from '../xss-vectors.ts';
import { each, XssConsole } from './xss-fixture.ts';

const shown = await XssConsole.start(t);
const { app, page, watch } = shown;
const { ada, grace } = app.demo.users;
const CONVERSATIONS = '/v1/messaging/conversations';

t.test('titles, customers and their metadata', async (t) => {
  const opened = await each(XSS_KINDS, (title) =>
    shown.ok<Conversation>('POST', CONVERSATIONS, {
      token: ada.access_token,
      body: { type: 'group', title, participants: [] },
    }),
  );
  await shown.go('');
  await watch.lookThrough(page, '.inbox-list', XSS_KINDS);
  for (const [index, { id }] of opened.entries()) {
    await shown.go(`c/${id}?pane=details`);
    // In the head and in the pane.
    await watch.look(page, [XSS_KINDS[index]!], 2);
  }
  const { id } = await newCase(XSS_KINDS, 0);
  await shown.go(`c/${id}?pane=details`);
  await watch.look(page, XSS_KINDS, 2);
  shown.nothingRan(t);
  await shown.go('administration/customers');
  await shown.showAll();
  await watch.look(page, XSS_KINDS);
  shown.nothingRan(t);
});

t.test('reasons of a legal hold, reply drafts, and why they are rejected', async (t) => {
  const { id } = await newCase(['Cleo'], 1_000);
  const path = `${CONVERSATIONS}/${id}`;
  for (const [index, reason] of XSS_KINDS.entries()) {
    const legal_hold = index % 2 === 0 ? 'held' : 'released';
    await shown.ok('POST', `${path}/actions/set-legal-hold`, { body: { legal_hold, reason } });
  }
  await shown.go(`c/${id}?pane=details`);
  await watch.look(page, XSS_KINDS);
  await shown.go('work');
  const drafts = await each(XSS_KINDS, (body) =>
    shown.ok<ChatMessage>('POST', `${path}/messages`, {
      token: ada.access_token,
      body: { mode: 'draft', channel: 'message', client_message_id: crypto.randomUUID(), body },
    }),
  );
  await shown.go(`c/${id}?pane=details`);
  await until(async () => (await page.locator('.draft-card').count()) === drafts.length, { what: 'drafts' });
  await watch.look(page, []);
  await each(XSS_KINDS, (reason, index) =>
    shown.ok('POST', `/v1/messaging/messages/${drafts[index]!.id}/actions/reject`, { body: { reason } }),
  );
  // As a reason of the hold, and as one of a rejection.
  await watch.look(page, XSS_KINDS, 2);
  shown.nothingRan(t);
});

t.test('members of a conversation, who has written, who is mentioned', async (t) => {
  const roles = await shown.ok<List<{ id: string; name: string }>>('GET', '/v1/roles');
  const role_id = roles.data.find(({ name }) => name === 'member')!.id;
  const people = await each(XSS_KINDS, (name, n) =>
    shown.ok<{ id: string }>('POST', '/v1/users', {
      body: { name, role_id, email: `person-${n}@example.com` },
    }),
  );
  const participants = people.map(({ id }) => ({ type: 'user', actor_id: id }));
  const { id } = await shown.ok<Conversation>('POST', CONVERSATIONS, {
    token: ada.access_token,
    body: { type: 'group', title: 'Members', participants },
  });
  const said = await each(people, async (person) =>
    shown.ok('POST', `${CONVERSATIONS}/${id}/messages`, {
      token: await app.tokenOf(person.id),
      body: { body: 'Hello', client_message_id: crypto.randomUUID(), mentions: [ada.id] },
    }),
  );
  t.equal(said.length, XSS_KINDS.length);
  await shown.go(`c/${id}?pane=details`);
  await watch.look(page, XSS_KINDS);
  await page.getByRole('textbox', { name: 'Message', exact: true }).pressSequentially('@');
  await page.getByRole('listbox').waitFor();
  await shown.go(`c/${id}`);
  await watch.lookThrough(page, '.timeline-scroll', XSS_KINDS, -1);
  await shown.go('notifications');
  await shown.showAll();
  await watch.look(page, XSS_KINDS);
  shown.nothingRan(t);
});

t.test('notifications of the application, and why drafts are rejected', async (t) => {
  await each(XSS_KINDS, (title, n) =>
    shown.ok('POST', '/v1/messaging/notifications', {
      body: { recipient_ids: [ada.id], category: 'order.updated', title, body: XSS_KINDS[n] },
    }),
  );
  await shown.go('notifications');
  await shown.showAll();
  await watch.look(page, XSS_KINDS);
  await page.getByRole('button', { name: /^Notifications/ }).click();
  await watch.look(page, XSS_KINDS, 2);
  await page.keyboard.press('Escape');
  shown.nothingRan(t);
});

t.test('what is searched for, and what is found', async (t) => {
  for (const text of XSS_KINDS) {
    await shown.go(`search?q=${encodeURIComponent(text)}`);
    await watch.look(page, [text]);
  }
  shown.nothingRan(t);
});

/** A case with these customers, and these texts as its metadata. */
function newCase(texts: readonly string[], from: number): Promise<Conversation> {
  const participants = texts.map((name, index) => ({
    type: 'customer',
    name,
    email: `customer-${from + index}@example.com`,
  }));
  const metadata = Object.fromEntries(texts.map((text, index) => [`note ${index}`, text]));
  const others = [{ type: 'user', actor_id: grace.id }];
  return shown.ok<Conversation>('POST', CONVERSATIONS, {
    token: ada.access_token,
    body: {
      type: 'group',
      audience: 'customer',
      title: 'A case',
      metadata,
      participants: [...participants, ...others],
    },
  });
}

t.test('markup that slipped through would run nothing, on any page', async (t) => {
  t.comment(`${watch.looks} texts were looked at`);
  await page.goto(`${app.baseUrl}/console/`);
  const refused = await watch.inject(page);
  t.match(refused, { html: 'TypeError', foreign: 'TypeError', handler: 'TypeError' });
  for (const path of ['/docs', '/docs/api', '/docs/sdk', '/']) {
    await page.goto(app.baseUrl + path);
    t.ok(await watch.inject(page), path);
  }

  t.comment('a download that a browser would show, as HTML');
  const key = await new Cases(app).upload('page.html');
  const { id } = await shown.ok<Conversation>('POST', CONVERSATIONS, {
    token: grace.access_token,
    body: { type: 'group', title: 'Files', participants: [] },
  });
  const { attachments } = await shown.ok<ChatMessage>(
    'POST',
    `${CONVERSATIONS}/${id}/messages?include[]=attachments`,
    {
      token: grace.access_token,
      body: { client_message_id: crypto.randomUUID(), attachments: [{ kind: 'file', s3_key: key }] },
    },
  );
  const { url } = attachments![0]!;
  await page.route(url!, async (route) => {
    const response = await route.fetch();
    const { 'content-disposition': _, ...headers } = response.headers();
    const body = '<title>Shown</title><script>alert(1)</script><img src="/x" onerror="alert(1)">';
    await route.fulfill({ headers: { ...headers, 'content-type': 'text/html' }, body });
  });
  await page.goto(url!);
  t.equal(await page.title(), 'Shown');
  t.equal(await page.evaluate('origin'), 'null', 'it has no part in the origin of the server');
  t.strictSame(
    watch.take().filter((what) => !/^policy: |^a page at about:srcdoc$/.test(what)),
    [],
  );
});
