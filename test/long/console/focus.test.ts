/**
 * Where the focus is in the console, in a real browser: after every act of a page, by Tab and F6,
 * and what is seen of a choice where the system has its own colours.
 *
 * Without influence: OPERATION, ASIDE, packages/client/ai, src/core/installation,
 * packages/console/administration, packages/console/installation, src/features/compliance,
 * src/features/widgets.
 */

import type { Locator, Page } from 'playwright-core';
import t from 'tap';
import { type Case, Cases } from '../../messages/cases.ts';
import { startTestApp } from '../../support/app.ts';
import { ConsoleBrowser, inPage } from '../../support/console-page.ts';
import { ModelServer } from '../../support/model-server.ts';
import { until } from '../../support/until.ts';

const models = await ModelServer.start(t);
models.otherwise('As you wish.');
const app = await startTestApp(t, models.env());
const cases = new Cases(app);
const browser = await ConsoleBrowser.start(t, app.baseUrl);
browser.context.setDefaultTimeout(60_000);
const { ada } = app.demo.users;

/** An act, and the element that has the focus after it. */
interface Act {
  readonly given?: (one: Case) => Promise<unknown>;
  readonly act: (page: Page) => Promise<unknown>;
  readonly focus: (page: Page) => Locator;
}

const field = (page: Page) => page.locator('.conversation > .composer .message-field');
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const message = (page: Page) => page.getByRole('article', { name: /: Where is it/ });
const draft = ({ id }: Case) => cases.draft(id, { body: 'We refund it.' });

const ACTS: Readonly<Record<string, Act>> = {
  'Edit of a draft': {
    given: draft,
    act: (page) => button(page, 'Edit').click(),
    focus: (page) => page.locator('.draft-card .message-field'),
  },
  'Save of a draft': {
    given: draft,
    act: async (page) => {
      await button(page, 'Edit').click();
      await page.locator('.draft-card .message-field:focus').waitFor();
      await page.keyboard.type(' Today.');
      await button(page, 'Save').click();
      await page.locator('.draft-card').getByText('We refund it. Today.').waitFor();
    },
    focus: (page) => page.locator('.draft-card button').first(),
  },
  'Approve of a draft': {
    given: draft,
    act: (page) => button(page, 'Approve and send').click(),
    focus: field,
  },
  'Reject of a draft': {
    given: draft,
    act: (page) => button(page, 'Reject').click(),
    focus: (page) => page.locator('.reject-form textarea'),
  },
  'Escape from the reason': {
    given: draft,
    act: async (page) => {
      await button(page, 'Reject').click();
      await page.locator('.reject-form textarea:focus').waitFor();
      await page.keyboard.press('Escape');
    },
    focus: (page) => page.locator('.draft-card button').first(),
  },
  'Reject with a reason': {
    given: draft,
    act: async (page) => {
      await button(page, 'Reject').click();
      await page.locator('.reject-form textarea:focus').waitFor();
      await page.keyboard.type('No.');
      await page.keyboard.press('Enter');
    },
    focus: field,
  },
  Schedule: {
    act: async (page) => {
      await field(page).fill('Later');
      await button(page, 'Send later').click();
      await page.getByRole('menuitem', { name: /In an hour/ }).click();
    },
    focus: field,
  },
  'Schedule at another time': {
    act: async (page) => {
      await field(page).fill('Later');
      await button(page, 'Send later').click();
      await page.getByRole('menuitem', { name: /Another time/ }).click();
      await button(page, 'Schedule').click();
    },
    focus: field,
  },
  Send: {
    act: async (page) => {
      await field(page).fill('Now');
      await button(page, 'Add note').click();
    },
    focus: field,
  },
  'A chosen snooze': {
    act: async (page) => {
      await button(page, 'Snooze…').click();
      await page.getByRole('menuitem', { name: /Until tomorrow/ }).click();
    },
    focus: (page) => button(page, 'End the snooze'),
  },
  'Assign to me': {
    act: (page) => button(page, 'Assign to me').click(),
    focus: (page) => button(page, /^Lane/),
  },
  'A chosen lane': {
    act: async (page) => {
      await button(page, /^Lane/).click();
      await page.getByRole('menuitemradio', { name: 'Waiting for the team' }).click();
    },
    focus: (page) => button(page, 'Lane: Waiting for the team'),
  },
  'Forward…': {
    act: async (page) => {
      await message(page).focus();
      await page.keyboard.press('f');
    },
    focus: (page) => page.getByRole('searchbox', { name: 'Search a conversation' }),
  },
  'Escape from Forward': {
    act: async (page) => {
      await message(page).focus();
      await page.keyboard.press('f');
      await page.locator('dialog[open]').waitFor();
      await page.keyboard.press('Escape');
    },
    focus: message,
  },
  'Delete…': {
    act: async (page) => {
      await message(page).focus();
      await page.keyboard.press('Delete');
    },
    focus: (page) => page.locator('dialog[open]').getByRole('button', { name: 'Cancel' }),
  },
  'The keys, closed': {
    act: async (page) => {
      await page.keyboard.press('?');
      await page.locator('dialog[open]').waitFor();
      await page.keyboard.press('Escape');
    },
    focus: (page) => page.locator('main'),
  },
  'A closed notice': {
    act: async (page) => {
      await page.keyboard.press('s');
      await page.getByRole('menuitem', { name: /Until tomorrow/ }).click();
      await page.getByRole('status').getByRole('button', { name: 'Dismiss' }).click();
    },
    focus: (page) => page.locator('main'),
  },
};

t.test('after every act the focus is where the work goes on', async (t) => {
  for (const [name, { given, act, focus }] of Object.entries(ACTS)) {
    const one = await opened();
    await given?.(one);
    const page = await browser.open('ada', `c/${one.id}`);
    await page.getByRole('log').getByText('Where is it?').waitFor();
    if (given !== undefined) await page.locator('.draft-card').waitFor();
    await act(page);
    const wanted = focus(page).and(page.locator(':focus'));
    await wanted.waitFor({ timeout: 20_000 }).catch(async () => {
      const there = await page.evaluate('document.activeElement.outerHTML.slice(0, 200)');
      t.fail(`${name}: the focus is at ${there}`);
    });
    t.pass(name);
    await page.close();
  }
});

t.test('Approve of a call of a tool leaves the focus in the conversation', async () => {
  const id = await cases.conversation('internal', {
    type: 'agent',
    actorId: app.demo.agent.actor_id,
  });
  const page = await browser.open('ada', `c/${id}`);
  const args = { filename: 'a.md', content_type: 'text/markdown', content: '# A' };
  models.reply({ calls: [{ name: 'create_artifact', arguments: args }] });
  await cases.sent(id, { body: '@assistant Create it.' }, { token: ada.access_token });
  const card = page.getByRole('region', { name: 'Approval of create_artifact' });
  await card.getByRole('button', { name: 'Approve' }).click();
  await card.waitFor({ state: 'detached' });
  await until(() => page.evaluate<boolean>(`document.activeElement !== document.body`), { what: 'a focus' });
  await page.close();
});

t.test('a row that leaves the list gives the focus to the next one', async () => {
  const [first, second] = [await opened(), await opened()];
  const page = await browser.open('ada');
  const row = ({ id }: Case) => page.locator(`.inbox-row[data-id="${id}"] a`);
  await row(first).waitFor();
  await row(second).focus();
  // Conversations of the tests before may still be answered, and then stand between the two.
  const after = page.locator(`.inbox-row[data-id="${second.id}"] + .inbox-row`);
  const next = await after.getAttribute('data-id');
  await page.keyboard.press('e');
  await row(second).waitFor({ state: 'detached' });
  await page.locator(`.inbox-row[data-id="${next}"] a:focus`).waitFor();
  await page.close();
});

t.test(
  'from a fresh load few Tabs lead to the field of a case, and the messages are one of them',
  async (t) => {
    const one = await opened();
    const at = new Date(Date.now() + 3_600_000).toISOString();
    for (let n = 0; n < 6; n++) await cases.sent(one.id, { body: `See [this](https://x.example/${n}).` });
    await cases.sent(one.id, { body: 'Later', scheduled_at: at }, { token: ada.access_token });
    const page = await browser.open('ada', `c/${one.id}`);
    await page.getByRole('log').getByRole('link').nth(5).waitFor();
    let tabs = 0;
    const tab = async () => {
      await page.keyboard.press('Tab');
      tabs += 1;
    };
    await tab();
    await page.getByRole('link', { name: 'Skip to the content' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    let inMessages = 0;
    while (tabs < 40 && (await field(page).and(page.locator(':focus')).count()) === 0) {
      await tab();
      if ((await page.locator('[role=log] :focus').count()) > 0) inMessages += 1;
    }
    t.ok(tabs <= 14, `${tabs} Tabs to the field`);
    t.equal(inMessages, 1);

    t.comment('or with the second link');
    await page.reload();
    await page.getByRole('log').getByRole('link').nth(5).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await field(page).and(page.locator(':focus')).waitFor();

    t.comment('the links and buttons of a message are reached from it');
    await page
      .getByRole('article', { name: /See this/ })
      .last()
      .focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('link', { name: 'this' }).last().and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Escape');
    await page
      .getByRole('article', { name: /See this/ })
      .last()
      .and(page.locator(':focus'))
      .waitFor();
    await page.keyboard.press('ArrowLeft');
    await button(page, 'More actions').and(page.locator(':focus')).waitFor();
    await page.close();
  },
);

t.test('F6 leads to every part, and back', async (t) => {
  const one = await opened();
  const page = await browser.open('ada', `c/${one.id}?pane=details`);
  await page.getByRole('log').getByText('Where is it?').waitFor();
  await page.getByRole('complementary', { name: 'Details' }).getByText('Cleo').first().waitFor();
  const parts = [
    '.inbox-row-link',
    '.conversation-head button',
    '[data-message]',
    '.message-field',
    '.side-pane *',
  ];
  await page.locator('.inbox-row-link').first().waitFor();
  await page.evaluate('document.activeElement.blur()');
  for (const part of [...parts, parts[0]!]) {
    await page.keyboard.press('F6');
    t.ok(await page.locator(part).and(page.locator(':focus')).count(), part);
  }
  for (const part of [...parts].reverse()) {
    await page.keyboard.press('Shift+F6');
    t.ok(await page.locator(part).and(page.locator(':focus')).count(), part);
  }
  await page.close();
});

t.test('with the colours of the system each choice is seen', async (t) => {
  const one = await opened();
  const page = await browser.open('ada', `c/${one.id}`);
  await page.locator('.inbox-row[data-open="true"]').waitFor();
  await page.emulateMedia({ forcedColors: 'active' });
  const lookOf = (selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate(
        inPage(`
          const { outlineStyle, outlineWidth, borderTopWidth, textDecorationLine } = getComputedStyle(element);
          return [outlineStyle, outlineWidth, borderTopWidth, textDecorationLine].join(' ');
        `),
      );
  const pairs = [
    ['.audience-choice label:has(:checked)', '.audience-choice label:not(:has(:checked))'],
    ['.side-bar-part[aria-current]', '.side-bar-part:not([aria-current])'],
    ['.inbox-row[data-open="true"] .inbox-row-link', '.inbox-row[data-open="false"] .inbox-row-link'],
    ['.inbox-view[aria-pressed="true"]', '.inbox-view[aria-pressed="false"]'],
  ] as const;
  for (const [chosen, other] of pairs) t.not(await lookOf(chosen), await lookOf(other), chosen);
  await page.close();
});

t.test('no page had a problem', async (t) => {
  t.strictSame(browser.problems, []);
});

/** Returns a case in which the customer has asked something. */
async function opened(): Promise<Case> {
  const one = await cases.open();
  await cases.sent(one.id, { body: 'Where is it?' }, { token: one.customerToken });
  return one;
}
