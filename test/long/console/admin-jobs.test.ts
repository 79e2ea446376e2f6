/**
 * The jobs of an admin, done in a real browser and counted: each takes no more clicks and keys than
 * in the best of the products that have the same job. Text that is written does not count.
 *
 * Without influence: OPERATION, packages/client/ai, src/features/cells,
 * src/features/platform-events, src/features/search, src/api/documents/pages, src/core/documents.
 */

import type { Locator } from 'playwright-core';
import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { ConsoleBrowser } from '../../support/console-page.ts';
import { Hand } from '../../support/hand.ts';
import { ModelServer } from '../../support/model-server.ts';
import { until } from '../../support/until.ts';
import { WebhookReceiver } from '../../support/webhook-receiver.ts';

const models = await ModelServer.start(t);
models.otherwise('Good morning.');
const receiver = await WebhookReceiver.start(t);
const app = await startTestApp(t, { ...models.env('first'), PARLEY_FETCH_ALLOW: '127.0.0.1' });
const browser = await ConsoleBrowser.start(t, app.baseUrl);
await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: app.baseUrl });
const page = await browser.open('ada');

interface Job {
  readonly work: (hand: Hand) => Promise<void>;
  /** Resolves when the result is shown. */
  readonly done: () => Promise<unknown>;
  /** Clicks and keys of the best product, which the comment names with its way. */
  readonly best: number;
}

const JOBS: Readonly<Record<string, Job>> = {
  'invite a person': {
    work: async (hand) => {
      await create(hand, 'New person');
      await box('Name').fill('Ida Rhodes');
      await box('Email').fill('ida@example.com');
      await pick(hand, 'Role', 'member');
      await hand.click(hand.button('Create'));
    },
    done: () =>
      page
        .locator('.notice')
        .getByText(/^Ida Rhodes was added/)
        .waitFor(),
    // Chatwoot: Settings, Agents, Add agent, Add. It gives the role of an agent by itself.
    best: 4,
  },
  'make a webhook': {
    work: async (hand) => {
      await create(hand, 'New webhook');
      await box('URL').fill(receiver.url);
      await hand.click(page.getByRole('checkbox', { name: 'message.created', exact: true }));
      await hand.click(hand.button('Create'));
    },
    done: () => box('Secret').waitFor(),
    // Chatwoot: Settings, Integrations, Webhooks, Add, an event, Create. Stripe: 7.
    best: 6,
  },
  'test a webhook, and see that it failed': {
    work: async (hand) => {
      receiver.answer = () => 500;
      await hand.click(hand.button('Send a test'));
    },
    done: () => deliveries().getByText(/500/).first().waitFor(),
    // Stripe: Send test events, the event, Send.
    best: 3,
  },
  'send the failed one again': {
    work: async (hand) => {
      receiver.answer = () => 204;
      await hand.click(deliveries().getByText('webhook.test').first());
      await hand.click(
        deliveries()
          .getByRole('button', { name: /^(Send again|Try now)$/ })
          .first(),
      );
    },
    done: () => until(() => receiver.received.length > 1, { what: 'it again' }),
    // Stripe: the delivery, Resend.
    best: 2,
  },
  'make an agent': {
    work: async (hand) => {
      await create(hand, 'New agent');
      await box('Name').fill('Echo');
      await box('Short name').fill('echo');
      await box('Category').fill('support');
      await pick(hand, 'Role', 'agent');
      await box('Instructions').fill('Repeat what was said.');
      await hand.click(hand.button('Create'));
    },
    done: () => page.getByRole('heading', { level: 1, name: 'Echo' }).waitFor(),
    // Chatwoot: Captain, Assistants, Create, Create.
    best: 4,
  },
  'try an agent': {
    work: async (hand) => {
      await hand.click(hand.button('Try it'));
      const field = page.getByRole('region', { name: 'Trial' }).getByRole('textbox').last();
      await field.waitFor();
      if (!(await field.evaluate('(element) => element === document.activeElement'))) await hand.click(field);
      await hand.page.keyboard.type('Good day');
      await hand.press('Enter');
    },
    done: () => page.getByRole('region', { name: 'Trial' }).getByText('Good morning.').first().waitFor(),
    // Chatwoot: Playground, the field, Enter. Intercom: Test, the field, Enter.
    best: 3,
  },
  'make a widget in a colour of one’s own, and copy its snippet': {
    work: async (hand) => {
      await create(hand, 'New widget');
      await box('Name').fill('Shop');
      await hand.click(hand.button('Add to Sites'));
      await box('Sites 1').fill('https://shop.example');
      await box('On light pages').fill('#aa3300');
      await hand.click(hand.button('Create'));
      await page.getByRole('heading', { level: 1, name: 'Shop' }).waitFor();
      await hand.click(copyOf(box('Snippet')));
    },
    done: async () => {
      const isThere = () =>
        page.evaluate<boolean>(`navigator.clipboard.readText().then((it) => it.includes('#aa3300'))`);
      await until(isThere, { what: 'the snippet in the clipboard' });
    },
    // Intercom: Settings, Messenger, the colour, Save, Install, Copy. Chatwoot: 8.
    best: 6,
  },
  'make an API key, and copy it': {
    work: async (hand) => {
      await create(hand, 'New key');
      await box('Name').fill('Reports');
      await pick(hand, 'Role', 'viewer');
      await hand.click(hand.button('Create'));
      await hand.click(
        copyOf(page.locator('.notice').filter({ hasText: 'The key was created' }).locator('input')),
      );
    },
    done: async () => {
      const isThere = () =>
        page.evaluate<boolean>(`navigator.clipboard.readText().then((it) => it.startsWith('parley_'))`);
      await until(isThere, { what: 'the key in the clipboard' });
    },
    // Stripe: Developers, API keys, Create secret key, Create, Copy.
    best: 5,
  },
};

for (const [name, { work, done, best }] of Object.entries(JOBS)) {
  t.test(name, async (t) => {
    const hand = new Hand(page);
    await work(hand);
    await done();
    t.ok(hand.count <= best, `${hand.count} of ${best}`);
  });
}

/** Leads to a form by the palette, as a person does who has done it before. */
async function create(hand: Hand, name: string): Promise<void> {
  await hand.press('Control+k');
  await hand.write(name);
  await page.getByRole('option', { name, exact: true, selected: true }).waitFor();
  await hand.press('Enter');
  await page.getByRole('heading', { level: 1, name }).waitFor();
}

/** Chooses by a word and Enter. */
async function pick(hand: Hand, name: string, word: string): Promise<void> {
  const field = page.getByRole('combobox', { name, exact: true });
  await field.fill(word);
  await page
    .getByRole('option', { name: new RegExp(word) })
    .first()
    .waitFor();
  await field.focus();
  await hand.press('Enter');
}

function box(name: string) {
  return page.getByRole('textbox', { name, exact: true });
}

/** The button beside a text. */
function copyOf(text: Locator): Locator {
  return text.locator('..').getByRole('button', { name: 'Copy' });
}

function deliveries() {
  return page.getByRole('region', { name: 'Deliveries' }).last();
}

t.test('no page had a problem', async (t) => {
  // Without a mail server the invitation by mail is refused, and a link takes its place.
  t.strictSame(
    browser.problems.filter((problem) => !problem.includes('status of 409')),
    [],
  );
});
