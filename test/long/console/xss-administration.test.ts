/**
 * Hostile texts in the administration of the console: lists, pages and forms that are made from the
 * OpenAPI document. Each is shown in a real browser, and none may run or become an element.
 */

import t from 'tap';
import type { List } from '../../../src/contract/protocol/lists.ts';
import { XSS_NAMES, XSS_VECTORS } from '../../console/xss-vectors.ts';
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
    ...{ path: '/v1/webhooks', most: 20, once: () => ({ event_types: ['order.created'] }) },
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
