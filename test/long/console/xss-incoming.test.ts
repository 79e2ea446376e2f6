/**
 * Hostile texts from outside: mail through its HTTP door, files and their names, answers of models,
 * imported archives, pushes to a browser. All texts go through one page of the console in a real
 * browser, as Markdown, as mail and as names of files; other views show one of each kind. None may
 * run.
 *
 * Without influence: OPERATION, packages/client/ai, src/core/installation, src/features/cells,
 * src/features/compliance, src/features/identity, src/features/platform-events,
 * src/features/search, src/features/widgets.
 */

import type { List } from '@parley/protocol/lists.ts';
import type { AgentRun } from '@parley/protocol/resources/agent-run.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { MailReceipt } from '@parley/protocol/resources/email.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { shownName } from '@parley/ui/text/shown-name.ts';
import nodemailer from 'nodemailer';
import t, { type Test } from 'tap';
import { ended, startImport, tarred } from '../../import/samples.ts';
import { signed } from '../../mail/arrivals.ts';
import { callsAt } from '../../support/app.ts';
import { ModelServer } from '../../support/model-server.ts';
import { deviceIn, startPushService } from '../../support/push-service.ts';
import { until } from '../../support/until.ts';
import { XSS_KINDS, XSS_NAMES, XSS_VECTORS } from '../xss-vectors.ts';
import { each, XssConsole } from './xss-fixture.ts';

const SECRET = 's'.repeat(32);
const models = await ModelServer.start(t);
const shown = await XssConsole.start(t, { PARLEY_MAIL_SECRET: SECRET, ...models.env() });
const { app, page, watch } = shown;
const { ada, grace } = app.demo.users;
const CONVERSATIONS = '/v1/messaging/conversations';
const ALL = XSS_VECTORS.join('\n\n');

t.test(
  'every text on one page: Markdown, and mail with its subject, names, HTML, quotes, ids and files',
  async (t) => {
    await shown.ok('POST', '/v1/messaging/inboxes', {
      body: { name: 'Support', address: 'help@demo.example' },
    });
    const composed = nodemailer.createTransport({ streamTransport: true, buffer: true });
    const idOf = (index: number) =>
      `<${index}-${XSS_NAMES[index]!.replace(/[^!-~]|[<>@]/g, '_')}@customers.example>`;
    const arrive = async (name: string, index: number) => {
      const vector = XSS_VECTORS[index]!;
      const { message } = await composed.sendMail({
        from: { name, address: 'cleo@customers.example' },
        to: { name, address: 'help@demo.example' },
        cc: { name, address: 'otto@customers.example' },
        subject: name,
        messageId: idOf(index),
        ...(index > 0 && { inReplyTo: idOf(0), references: idOf(0) }),
        // Every other one has nothing but HTML.
        ...(index % 2 === 0 && {
          text: `${vector}\n\nOn Monday, ${name} wrote:\n> ${vector}\n-- \n${vector}`,
        }),
        html: `<p>${vector}</p><blockquote type="cite">${vector}</blockquote>`,
        attachments: [{ filename: name, content: vector, contentType: 'text/html' }],
      });
      return (await receive(message as Buffer)).mails[0]!.conversation_id;
    };
    const conversation = await arrive(XSS_NAMES[0]!, 0);
    const created_at = new Date().toISOString();
    const messages = ['Above all others', ...XSS_VECTORS].map((body) => ({
      author_id: grace.id,
      body,
      client_message_id: crypto.randomUUID(),
      created_at,
    }));
    await shown.ok('POST', `${CONVERSATIONS}/${conversation}/messages/import`, { body: { messages } });
    const others = await each(XSS_NAMES.slice(1), (name, index) => arrive(name, index + 1));
    t.strictSame([...new Set(others)], [conversation], 'they are one thread');
    await page.setViewportSize({ width: 1_400, height: 2_000 });
    await shown.go(`c/${conversation}?pane=details`);
    await page.locator('.mail-parts').first().waitFor();
    // The page opens at the first of the unread mails.
    await page.locator('.timeline-newest').click();
    // The mail comes first on the way up: texts that Markdown shows as they are do not stand for
    // it.
    await watch.lookThrough(page, '.timeline-scroll', XSS_NAMES, -1);
    await watch.lookThrough(page, '.timeline-scroll', ['Above all others'], -1);
    shown.nothingRan(t);

    t.comment('as downloaded');
    const files: string[] = [];
    let next: string | null = `${CONVERSATIONS}/${conversation}/messages?limit=100&include[]=attachments`;
    while (next !== null) {
      const { data, page_info }: List<ChatMessage> = await shown.ok('GET', next);
      files.push(...data.flatMap(({ attachments }) => (attachments ?? []).map(({ url }) => url!)));
      next = page_info.next_page_url;
    }
    t.equal(files.length, XSS_NAMES.length);
    for (const url of files) await isDownloaded(t, url);
  },
);

/** Checks that a browser neither shows a file nor takes its name for anything else. */
async function isDownloaded(t: Test, url: string): Promise<void> {
  const { headers } = await fetch(url);
  t.match(
    headers.get('Content-Disposition'),
    /^attachment; filename="[^"\\]*"(; filename\*=UTF-8''[\w%.~!$&+^`|-]*)?$/,
  );
  t.equal(headers.get('Content-Security-Policy'), "default-src 'none'; sandbox");
  t.equal(headers.get('X-Content-Type-Options'), 'nosniff');
  t.match(headers.get('Content-Type'), /^application\/octet-stream$/);
}

async function receive(raw: Buffer): Promise<MailReceipt> {
  const answer = await fetch(`${app.baseUrl}/v1/mail/inbound`, {
    method: 'POST',
    body: new Uint8Array(raw),
    headers: { 'Content-Type': 'message/rfc822', 'Parley-Signature': signed(raw, SECRET) },
  });
  if (answer.status !== 200) throw new Error(await answer.text());
  return (await answer.json()) as MailReceipt;
}

t.test('names of files: in the timeline, in the list, as a picture, as downloaded', async (t) => {
  const { id } = await shown.ok<Conversation>('POST', CONVERSATIONS, {
    token: ada.access_token,
    body: { type: 'group', title: 'Files', participants: [] },
  });
  const sent = await each(XSS_KINDS, async (filename, index) => {
    const kind = index % 2 === 0 ? 'file' : 'image';
    const content_type = kind === 'file' ? 'text/html' : 'image/svg+xml';
    const content = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>`;
    const { s3_key, url, headers } = await shown.ok<UploadUrl>(
      'POST',
      '/v1/messaging/attachments/upload-url',
      { token: ada.access_token, body: { filename, content_type, size_bytes: content.length } },
    );
    await fetch(url, { method: 'PUT', headers, body: content });
    return shown.ok<ChatMessage>('POST', `${CONVERSATIONS}/${id}/messages?include[]=attachments`, {
      token: ada.access_token,
      body: {
        client_message_id: crypto.randomUUID(),
        attachments: [
          { kind, s3_key, filename, content_type, size_bytes: content.length },
          { kind: 'link', url: `https://example.com/?${filename.replace(/[\s\\]/g, '+')}` },
        ],
      },
    });
  });
  await shown.go(`c/${id}?pane=details`);
  // None of them can disguise its end.
  const names = XSS_KINDS.map(shownName);
  await watch.lookThrough(page, '.timeline-scroll', names, -1);
  await page
    .getByRole('button', { name: /^Open / })
    .first()
    .click();
  await page.getByRole('dialog').waitFor();
  await watch.look(page, []);
  await page.keyboard.press('Escape');
  const files = page.locator('.side-pane');
  await files.locator('.files li').first().waitFor();
  await watch.look(page, names);
  for (const { attachments } of sent) await isDownloaded(t, attachments![0]!.url!);
  shown.nothingRan(t);
});

t.test('what a model writes, calls and gets, while it grows and when it waits', async (t) => {
  const roles = await shown.ok<{ data: { id: string; name: string }[] }>('GET', '/v1/roles');
  const role_id = roles.data.find(({ name }) => name === 'admin')!.id;
  const agent = await shown.ok<{ id: string; actor_id: string }>('POST', '/v1/ai/agents', {
    body: {
      name: XSS_KINDS[0],
      slug: 'hostile',
      category_code: 'support',
      trigger_type: 'chat',
      role_id,
      config: {
        endpoint_tool_slugs: ['create-group', 'list-groups'],
        endpoint_tool_review: { 'create-group': true },
      },
    },
  });
  await each(XSS_KINDS, (name) => shown.ok('POST', '/v1/messaging/groups', { body: { name } }));
  const { id } = await shown.ok<Conversation>('POST', CONVERSATIONS, {
    token: ada.access_token,
    body: {
      type: 'group',
      title: 'Models',
      participants: [
        { type: 'agent', actor_id: agent.actor_id },
        { type: 'user', actor_id: grace.id },
      ],
    },
  });
  await shown.go(`c/${id}`);
  const args = Object.fromEntries(XSS_VECTORS.map((text, index) => [`${index} ${text}`, text]));
  const calls = XSS_KINDS.map((name) => ({ name, arguments: { body: { name } } }));
  models.reply({
    text: ALL.match(/[\s\S]{1,40}/g)!,
    tokensPerSecond: 200,
    calls: [{ name: 'list-groups', arguments: { query: { limit: 100 } } }],
  });
  models.reply({ calls });
  models.reply({ calls: [{ name: 'no-such-tool', arguments: args }] });
  models.reply({
    text: 'Some groups.',
    calls: [{ name: 'create-group', arguments: { body: { name: XSS_KINDS.slice(0, 3).join(' ') } } }],
  });
  models.reply(ALL);
  await shown.ok('POST', `${CONVERSATIONS}/${id}/messages`, {
    token: ada.access_token,
    body: { body: 'Go', client_message_id: crypto.randomUUID(), mentions: [agent.actor_id] },
  });
  await page.locator('[data-message] .run-parts-writing').first().waitFor();
  for (let turn = 0; turn < 5; turn++) await watch.look(page, []);
  const runs = () => shown.ok<{ data: AgentRun[] }>('GET', `/v1/ai/agents/${agent.id}/runs`);
  const run = await until(
    async () =>
      (await runs()).data.find(({ status }) => status === 'awaiting_approval' || status === 'failed'),
    { what: 'the approval' },
  );
  t.comment(run.status, run.error_message);
  await shown.go(`c/${id}?pane=run:${run.id}`);
  await page.getByRole('button', { name: 'Approve' }).first().waitFor();
  await watch.look(page, XSS_KINDS);
  await page.getByRole('button', { name: 'Approve' }).first().click();
  await until(async () => (await runs()).data[0]!.status === 'completed', { what: 'the end' });
  await watch.look(page, []);
  await shown.go(`administration/runs/${run.id}`);
  await page.getByRole('region', { name: 'Calls of tools' }).first().waitFor();
  await watch.look(page, []);
  shown.nothingRan(t);
});

t.test('an archive: names of people and channels, descriptions, topics, texts', async (t) => {
  const ids = XSS_KINDS.map((_, index) => index + 1);
  const person = (id: number, full_name: string, email: string) => ({
    id,
    full_name,
    delivery_email: email,
    email,
    is_active: true,
    is_bot: false,
    role: 400,
  });
  const own = 1_000;
  const archive = await tarred({
    'harbor/realm.json': {
      zerver_realm: [{ id: 1, string_id: 'harbor', name: XSS_KINDS[0] }],
      zerver_userprofile: [
        ...ids.map((id) => person(id, XSS_KINDS[id - 1]!, `u${id}@harbor.example`)),
        person(own, 'Ada', ada.email),
      ],
      zerver_userprofile_mirrordummy: [],
      zerver_userprofile_crossrealm: [],
      zerver_reaction: [],
      zerver_stream: ids.map((id) => ({
        id,
        name: XSS_KINDS[id - 1],
        description: XSS_KINDS[id - 1],
        invite_only: false,
        deactivated: false,
      })),
      zerver_recipient: ids.map((id) => ({ id, type: 2, type_id: id })),
      zerver_subscription: ids.flatMap((id) => [
        { id: 2 * id, user_profile: id, recipient: id, active: true },
        { id: 2 * id + 1, user_profile: own, recipient: id, active: true },
      ]),
    },
    'harbor/messages-000001.json': {
      zerver_message: ids.map((id) => ({
        id,
        sender: id,
        recipient: id,
        subject: XSS_KINDS[id - 1],
        content: XSS_KINDS[id - 1],
        date_sent: 1_600_000_000 + id,
      })),
      zerver_usermessage: [],
    },
    'harbor/attachment.json': { zerver_attachment: [] },
    'harbor/uploads/records.json': [],
  });
  const { call } = callsAt(app, NEWEST_VERSION);
  const id = await startImport(call, 'zulip', archive);
  t.match(await ended(call, id), { status: 'completed' });
  await page.setViewportSize({ width: 1_400, height: 2_000 });
  await shown.go(`administration/imports/${id}`);
  await page.getByRole('heading', { name: 'Report' }).waitFor();
  await watch.look(page, []);
  await shown.go('administration/people');
  await shown.showAll();
  await watch.look(page, XSS_KINDS);
  const { data } = await shown.ok<List<Conversation>>('GET', `${CONVERSATIONS}?limit=100`);
  const imported = data.filter(({ title }) => XSS_KINDS.includes(title ?? ''));
  t.equal(imported.length, XSS_KINDS.length);
  for (const { id: one, title } of imported) {
    await shown.go(`c/${one}?pane=details`);
    // In the head, as the title, and as the name of the author and member.
    await watch.look(page, [title!], 3);
  }
  shown.nothingRan(t);
});

t.test('pushes: what the browser shows, and where a click leads', async (t) => {
  const service = await startPushService(t);
  const device = service.browser();
  const context = page.context();
  await context.grantPermissions(['notifications'], { origin: app.baseUrl });
  await context.addInitScript(deviceIn, device.toJSON());
  await page.reload();
  await shown.go('settings');
  const working = context.waitForEvent('serviceworker');
  await page.getByLabel(/^Show notifications of the desktop/).click();
  const worker = await working;
  await page.getByText('This browser shows them while no window').waitFor();
  await each(XSS_KINDS, (title) =>
    shown.ok('POST', '/v1/messaging/notifications', {
      body: { recipient_ids: [ada.id], category: 'order.updated', title, body: title },
    }),
  );
  const titles = () => new Set(device.received.map(({ payload }) => payload.title));
  await until(() => XSS_KINDS.every((name) => titles().has(name)), { what: 'every push' });
  // The worker shows nothing while a window of the console has the focus.
  await page.goto(`${app.baseUrl}/docs`);
  const pushed = await worker.evaluate(
    async (texts) => {
      const shown: [string, string][] = [];
      for (const text of texts) {
        let work: Promise<unknown> | undefined;
        const waitUntil = (given: Promise<unknown>) => (work = given);
        const data = { json: () => JSON.parse(text) };
        (globalThis as unknown as EventTarget).dispatchEvent(
          Object.assign(new Event('push'), { data, waitUntil }),
        );
        await work;
        const { registration } = globalThis as unknown as { registration: Registration };
        for (const one of await registration.getNotifications()) {
          shown.push([one.title, one.body]);
          one.close();
        }
      }
      return shown;
    },
    device.received.map(({ payload }) => JSON.stringify(payload)),
  );
  t.strictSame(new Map(pushed), new Map(XSS_KINDS.map((name) => [name, name])), 'as texts, whole');

  t.comment('a click, as if even the ids were hostile');
  const opened = await worker.evaluate(async (texts) => {
    const addresses: string[] = [];
    const { clients } = globalThis as unknown as { clients: { openWindow(url: string): void } };
    clients.openWindow = (url) => void addresses.push(url);
    for (const text of texts) {
      let work: Promise<unknown> | undefined;
      const waitUntil = (given: Promise<unknown>) => (work = given);
      const data = { notification_id: text, conversation_id: text, message_id: text, category: text };
      const event = new Event('notificationclick');
      (globalThis as unknown as EventTarget).dispatchEvent(
        Object.assign(event, { notification: { data, close() {} }, waitUntil }),
      );
      await work;
    }
    return addresses;
  }, XSS_VECTORS);
  t.equal(opened.length, XSS_VECTORS.length);
  const scope = `${app.baseUrl}/console/`;
  for (const address of opened) t.ok(address.startsWith(`${scope}?conversation=`), address);
  for (const address of opened.slice(0, 1)) {
    await page.goto(`${address}&as=ada`);
    await page.locator('.shell').waitFor();
    await watch.look(page, []);
  }
  await worker.evaluate(
    (texts) => {
      const Client = (globalThis as unknown as { WindowClient: { prototype: object } }).WindowClient;
      // Only a click of a person may raise a window.
      Object.assign(Client.prototype, { focus: async () => {} });
      for (const text of texts) {
        const data = { notification_id: text, conversation_id: text, message_id: text, category: text };
        const notification = { data, close() {} };
        const event = Object.assign(new Event('notificationclick'), { notification, waitUntil() {} });
        (globalThis as unknown as EventTarget).dispatchEvent(event);
      }
    },
    [...XSS_KINDS],
  );
  const last = encodeURIComponent(XSS_KINDS.at(-1)!);
  await until(() => page.url().includes(last), { what: () => `the last click has led to ${page.url()}` });
  await watch.look(page, []);
  shown.nothingRan(t);
});

interface Registration {
  getNotifications(): Promise<readonly { title: string; body: string; close(): void }[]>;
}
