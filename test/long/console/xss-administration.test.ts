/**
 * Hostile texts in the administration of the console: lists, pages and forms that are made from the
 * OpenAPI document. Each is shown in a real browser, and none may run or become an element.
 */

import t from 'tap';
import type { List } from '../../../src/contract/protocol/lists.ts';
import type { Installation } from '../../../src/contract/protocol/resources/installation.ts';
import type { WebhookDelivery } from '../../../src/contract/protocol/resources/webhook-delivery.ts';
import { addOperator } from '../../../src/core/accounts/operators.ts';
import { lockUser } from '../../../src/core/accounts/users.ts';
import { XSS_NAMES, XSS_VECTORS } from '../../console/xss-vectors.ts';
import { until } from '../../support/until.ts';
import { WebhookReceiver } from '../../support/webhook-receiver.ts';
import { each, XssConsole } from './xss-fixture.ts';

const shown = await XssConsole.start(t);
const { page, watch } = shown;
await page.setViewportSize({ width: 1_400, height: 2_000 });
const roles = await shown.ok<List<{ id: string; name: string }>>('GET', '/v1/roles');
const role_id = roles.data.find(({ name }) => name === 'viewer')!.id;

/** A list of the administration whose rows are made of texts. */
interface Rows {
  readonly path: string;
  /** How many there may be: the next ones rename those that are there. */
  readonly most: number;
  readonly body: (text: string, index: number) => object;
  /** What cannot be renamed. */
  readonly once: (text: string, index: number) => object;
  /** What is shown of a text. */
  readonly labelOf?: (text: string, index: number) => string;
}
const SECTIONS: Readonly<Record<string, Rows>> = {
  people: {
    ...{ path: '/v1/users', most: 180, body: (name) => ({ name }) },
    once: (_, n) => ({ role_id, email: `person-${n}@example.com` }),
  },
  groups: { path: '/v1/messaging/groups', most: 180, body: (name) => ({ name }), once: () => ({}) },
  roles: {
    ...{ path: '/v1/roles', most: 180, body: (name) => ({ name }) },
    once: () => ({ permissions: ['messaging:read'] }),
  },
  'api-keys': { path: '/v1/api-keys', most: 180, body: (name) => ({ name }), once: () => ({ role_id }) },
  inboxes: {
    ...{ path: '/v1/messaging/inboxes', most: 180, body: (name) => ({ name: name.slice(0, 100) }) },
    once: (_, n) => ({ address: `box-${n}@example.com` }),
    labelOf: (name) => name.slice(0, 100),
  },
  widgets: {
    ...{ path: '/v1/widgets', most: 50, body: (name) => ({ name }) },
    once: () => ({ sites: ['https://shop.example'] }),
  },
  agents: {
    ...{ path: '/v1/ai/agents', most: 90 },
    body: (name, n) => ({ name, description: XSS_VECTORS[n], category_code: name.slice(0, 64) }),
    once: (_, n) => ({ slug: `agent-${n}`, trigger_type: 'manual', config: {} }),
  },
  'identity-providers': {
    ...{ path: '/v1/identity-providers', most: 20, body: (name) => ({ name }) },
    once: (_, n) => ({ issuer: `https://${n}.example`, audience: 'a', jwks_url: 'http://127.0.0.1:9/keys' }),
  },
  webhooks: {
    ...{ path: '/v1/webhooks', most: 19, once: () => ({ event_types: ['order.created'] }) },
    body: (text, n) => ({ url: addressOf(text, n) }),
    labelOf: (text, n) => new URL(addressOf(text, n)).search,
  },
};

/** An address of a webhook with the text in it, as far as addresses may have it. */
function addressOf(text: string, index: number): string {
  return `http://127.0.0.1:9/${index}?${text.replace(/[\s#\\]/g, '+')}`;
}

for (const [section, { path, most, body, once, labelOf = (text: string) => text }] of Object.entries(
  SECTIONS,
)) {
  t.test(`names in the list of ${section}, and one with its form`, async (t) => {
    const ids: string[] = [];
    for (let from = 0; from < XSS_NAMES.length; from += most) {
      const texts = XSS_NAMES.slice(from, from + most);
      const made = await each(texts, async (text, index) => {
        const fields = body(text, from + index);
        const known = ids[index];
        if (known !== undefined) await shown.ok('PATCH', `${path}/${known}`, { body: fields });
        const options = { body: { ...fields, ...once(text, index) } };
        return known ?? (await shown.ok<{ id: string }>('POST', path, options)).id;
      });
      ids.splice(0, made.length, ...made);
      await shown.go('work');
      await shown.go(`administration/${section}`);
      await shown.showAll();
      await watch.look(
        page,
        texts.map((text, index) => labelOf(text, from + index)),
      );
    }
    for (const [index, id] of ids.slice(0, 6).entries()) {
      const text = XSS_NAMES[XSS_NAMES.length - (XSS_NAMES.length % most || most) + index]!;
      await shown.go(`administration/${section}/${id}`);
      await watch.look(page, [labelOf(text, XSS_NAMES.indexOf(text))]);
      const edit = page.getByRole('button', { name: 'Edit', exact: true });
      if ((await edit.count()) === 0) continue;
      await edit.click();
      await page.getByRole('button', { name: 'Save', exact: true }).waitFor();
      await watch.look(page, [labelOf(text, XSS_NAMES.indexOf(text))]);
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
  for (const text of XSS_NAMES.filter((_, index) => index % 20 === 0)) {
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
  await each(XSS_NAMES, (title) =>
    shown.ok('POST', '/v1/messaging/conversations', {
      body: {
        ...{ type: 'group', title, metadata: { title } },
        participants: [{ type: 'user', actor_id: shown.app.demo.users.ada.id }],
      },
    }),
  );
  const titles = () => new Set(receiver.received.map(({ event: { data } }) => data.title));
  await until(() => titles().size >= XSS_NAMES.length, { what: 'every payload' });
  await shown.go('work');
  await shown.go(`administration/webhooks/${id}`);
  await page.getByRole('cell', { name: '503' }).first().waitFor();
  await watch.look(page, []);
  shown.nothingRan(t);

  t.comment('as a later server may word it');
  let from = 0;
  await shown.changeAnswers<List<WebhookDelivery>>(`/v1/webhooks/${id}/deliveries*`, (answer) => {
    const data = answer.data.map((one, index) => {
      const text = XSS_NAMES[(from + index) % XSS_NAMES.length]!;
      return { ...one, event_type: text, last_error: `Error: ${text}`, resource_id: text, event_id: text };
    });
    from += data.length;
    return { ...answer, data };
  });
  await shown.go('work');
  await shown.go(`administration/webhooks/${id}`);
  const more = page.locator('#main').getByRole('button', { name: 'Show more', exact: true });
  const seen = () => from;
  while (seen() < XSS_NAMES.length) {
    const before = seen();
    await more.click();
    await until(() => seen() > before, { what: 'more deliveries' });
  }
  await watch.look(page, XSS_NAMES, 2);
  shown.nothingRan(t);
});

t.test('what nodes say of themselves, and what checks say, on the page of operators', async (t) => {
  const { database, demo } = shown.app;
  await database.transaction(async (tx) =>
    addOperator(tx, (await lockUser(tx, demo.account_id, demo.users.ada.id))!),
  );
  await shown.changeAnswers<Installation>('/v1/installation?*', (answer) => ({
    ...answer,
    nodes: XSS_NAMES.map((text, index) => ({
      ...answer.nodes[0]!,
      ...{ id: text, release: text, node_version: XSS_VECTORS[index]!, answers: false },
      ...(index % 2 === 0 ? { state: text } : { postgres: text }),
    })),
    checks: XSS_NAMES.map((text, index) => ({
      ...answer.checks[0]!,
      ...{ name: text, message: text, state: index % 2 === 0 ? 'attention' : 'ok' },
    })),
  }));
  await page.reload();
  await page.locator('.shell').waitFor();
  await shown.go('installation');
  await page.getByRole('heading', { name: 'Checks' }).waitFor();
  // Of a check its name and its message, of a node its id and its release.
  await watch.look(page, XSS_NAMES, 4);
  shown.nothingRan(t);
});
