/**
 * Hostile texts in the administration of the console: lists, pages and forms that are made from the
 * OpenAPI document. A text of each kind is shown in a real browser, and none may run or become an
 * element.
 *
 * Without influence: OPERATION, packages/client/ai, src/features/cells, src/features/import,
 * src/features/platform-events, src/features/search, src/api/documents/pages, src/core/documents.
 */

import type { List } from '@parley/protocol/lists.ts';
import type { Installation } from '@parley/protocol/resources/installation.ts';
import type { WebhookDelivery } from '@parley/protocol/resources/webhook-delivery.ts';
import t from 'tap';
import { lockUser } from '../../../src/core/accounts/actors/users.ts';
import { addOperator } from '../../../src/core/accounts/users/operators.ts';
import { until } from '../../support/until.ts';
import { WebhookReceiver } from '../../support/webhook-receiver.ts';
import { XSS_KINDS } from '../xss-vectors.ts';
import { each, XssConsole } from './xss-fixture.ts';

const shown = await XssConsole.start(t);
const { page, watch } = shown;
await page.setViewportSize({ width: 1_400, height: 2_000 });
const roles = await shown.ok<List<{ id: string; name: string }>>('GET', '/v1/roles');
const role_id = roles.data.find(({ name }) => name === 'viewer')!.id;

/** A list of the administration whose rows are made of texts. */
interface Rows {
  readonly path: string;
  readonly body: (text: string, index: number) => object;
  /** What is shown of a text. */
  readonly labelOf?: (text: string, index: number) => string;
}
const SECTIONS: Readonly<Record<string, Rows>> = {
  people: { path: '/v1/users', body: (name, n) => ({ name, role_id, email: `person-${n}@example.com` }) },
  groups: { path: '/v1/messaging/groups', body: (name) => ({ name }) },
  roles: { path: '/v1/roles', body: (name) => ({ name, permissions: ['messaging:read'] }) },
  'api-keys': { path: '/v1/api-keys', body: (name) => ({ name, role_id }) },
  inboxes: {
    path: '/v1/messaging/inboxes',
    body: (name, n) => ({ name, address: `box-${n}@example.com` }),
  },
  widgets: { path: '/v1/widgets', body: (name) => ({ name, sites: ['https://shop.example'] }) },
  agents: {
    path: '/v1/ai/agents',
    body: (name, n) => ({
      name,
      description: name,
      category_code: name.slice(0, 64),
      slug: `agent-${n}`,
      trigger_type: 'manual',
      config: {},
    }),
  },
  'identity-providers': {
    path: '/v1/identity-providers',
    body: (name, n) => ({
      name,
      issuer: `https://${n}.example`,
      audience: 'a',
      jwks_url: 'http://127.0.0.1:9/keys',
    }),
  },
  webhooks: {
    path: '/v1/webhooks',
    body: (text, n) => ({ url: addressOf(text, n), event_types: ['order.created'] }),
    labelOf: (text, n) => new URL(addressOf(text, n)).search,
  },
};

/** An address of a webhook with the text in it, as far as addresses may have it. */
function addressOf(text: string, index: number): string {
  return `http://127.0.0.1:9/${index}?${text.replace(/[\s#\\]/g, '+')}`;
}

for (const [section, { path, body, labelOf = (text: string) => text }] of Object.entries(SECTIONS)) {
  t.test(`names in the list of ${section}, and one with its form`, async (t) => {
    const made = await each(XSS_KINDS, (text, index) =>
      shown.ok<{ id: string }>('POST', path, { body: body(text, index) }),
    );
    await shown.go(`administration/${section}`);
    await shown.showAll();
    await watch.look(page, XSS_KINDS.map(labelOf));
    const label = labelOf(XSS_KINDS[0]!, 0);
    await shown.go(`administration/${section}/${made[0]!.id}`);
    await watch.look(page, [label]);
    const edit = page.getByRole('button', { name: 'Edit', exact: true });
    if ((await edit.count()) > 0) {
      await edit.click();
      await page.getByRole('button', { name: 'Save', exact: true }).waitFor();
      await watch.look(page, [label]);
    }
    shown.nothingRan(t);
  });
}

t.test('the audit of all that, and the choices of a form', async (t) => {
  await shown.go('administration/audit');
  await page.getByRole('table').waitFor();
  await watch.look(page, []);
  await shown.go('administration/people/new');
  const field = page.getByRole('combobox', { name: 'Role', exact: true });
  for (const text of XSS_KINDS) {
    await field.fill(text);
    await watch.look(page, [text]);
  }
  shown.nothingRan(t);
});

t.test('what is sent to webhooks, what receivers answer, and what the list says of it', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  receiver.answer =
    ({ event: { data } }) =>
    (response) =>
      response
        .writeHead(503, String(data.title).replace(/[^!-~ ]/g, ' '), { 'Content-Type': 'text/html' })
        .end(String(data.title));
  const { id } = await shown.ok<{ id: string }>('POST', '/v1/webhooks', {
    body: { url: receiver.url, event_types: ['conversation.created'] },
  });
  await each(XSS_KINDS, (title) =>
    shown.ok('POST', '/v1/messaging/conversations', {
      body: {
        type: 'group',
        title,
        metadata: { title },
        participants: [{ type: 'user', actor_id: shown.app.demo.users.ada.id }],
      },
    }),
  );
  const titles = () => new Set(receiver.received.map(({ event: { data } }) => data.title));
  await until(() => titles().size >= XSS_KINDS.length, { what: 'every payload' });
  await shown.go('work');
  await shown.go(`administration/webhooks/${id}`);
  const deliveries = page.locator('.delivery-list summary');
  await deliveries.filter({ hasText: 'Answered 503' }).first().waitFor();
  t.comment('the answer to each try, and the request');
  for (const one of await deliveries.all()) await one.click();
  await until(async () => (await page.locator('.delivery-open pre').count()) >= (await deliveries.count()), {
    what: 'open deliveries',
  });
  await watch.look(page, []);
  shown.nothingRan(t);

  t.comment('as a later server may word it');
  await shown.changeAnswers<List<WebhookDelivery>>(`/v1/webhooks/${id}/deliveries*`, (answer) => {
    const data = answer.data.map((one, index) => {
      const text = XSS_KINDS[index % XSS_KINDS.length]!;
      return { ...one, event_type: text, last_error: `Error: ${text}`, resource_id: text, event_id: text };
    });
    return { ...answer, data };
  });
  await shown.go('work');
  await shown.go(`administration/webhooks/${id}`);
  await watch.look(page, XSS_KINDS, 2);
  shown.nothingRan(t);
});

t.test('what nodes say of themselves, and what checks say, on the page of operators', async (t) => {
  const { database, demo } = shown.app;
  await database.transaction(async (tx) =>
    addOperator(tx, (await lockUser(tx, demo.account_id, demo.users.ada.id))!),
  );
  await shown.changeAnswers<Installation>('/v1/installation?*', (answer) => ({
    ...answer,
    nodes: XSS_KINDS.map((text, index) => ({
      ...answer.nodes[0]!,
      id: text,
      release: text,
      node_version: text,
      answers: false,
      ...(index % 2 === 0 ? { state: text } : { postgres: text }),
    })),
    checks: XSS_KINDS.map((text, index) => ({
      ...answer.checks[0]!,
      name: text,
      message: text,
      state: index % 2 === 0 ? 'attention' : 'ok',
    })),
  }));
  await page.reload();
  await page.locator('.shell').waitFor();
  await shown.go('installation');
  await page.getByRole('heading', { name: 'Checks' }).waitFor();
  // Of a check its name and its message, of a node its id and its release.
  await watch.look(page, XSS_KINDS, 4);
  shown.nothingRan(t);
});
