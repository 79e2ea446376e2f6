/**
 * The jobs of an agent's day, done in a real browser and counted: each takes no more clicks and
 * keys than in the best of the products that are made for it. Text that is written does not count.
 *
 * Without influence: OPERATION, ASIDE, packages/client/ai, src/core/installation,
 * packages/console/administration, packages/console/installation, src/features/compliance,
 * src/features/widgets.
 */

import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { Page } from 'playwright-core';
import t from 'tap';
import { Conversations } from '../../conversations/fixture.ts';
import { type Case, Cases } from '../../messages/cases.ts';
import { callsAt, startTestApp } from '../../support/app.ts';
import { ConsoleBrowser } from '../../support/console-page.ts';
import { Hand } from '../../support/hand.ts';
import { until } from '../../support/until.ts';

const app = await startTestApp(t);
const { ada, grace } = app.demo.users;
const { call } = callsAt(app, NEWEST_VERSION);
const cases = new Cases(app);
const browser = await ConsoleBrowser.start(t, app.baseUrl);
browser.context.setDefaultTimeout(60_000);

interface Job {
  /** Prepares the case before its page is opened. */
  readonly given?: (one: Case) => Promise<unknown>;
  readonly work: (hand: Hand, one: Case) => Promise<void>;
  /** The result, as the API says it, or as it is shown. */
  readonly done: (one: Case, page: Page) => Promise<boolean>;
  /** Clicks and keys of the best product. */
  readonly best: number;
}

const JOBS: Readonly<Record<string, Job>> = {
  'answer the customer': {
    work: async (hand) => {
      await hand.press('r');
      await hand.write('No problem, thanks / really?');
      await hand.press('Enter');
    },
    done: ({ id }) => has(id, { visibility: 'external', body: 'No problem, thanks / really?' }),
    best: 2,
  },
  'write a note': {
    work: async (hand) => {
      await hand.press('n');
      await hand.write('For us alone');
      await hand.press('Enter');
    },
    done: ({ id }) => has(id, { visibility: 'internal', body: 'For us alone' }),
    best: 2,
  },
  'approve a draft': {
    given: ({ id }) => cases.draft(id, { body: 'We refund it.' }),
    work: (hand) => hand.click(hand.button('Approve and send')),
    done: ({ id }) => has(id, { body: 'We refund it.', approved_by: ada.id }),
    best: 1,
  },
  'approve a draft with a change': {
    given: ({ id }) => cases.draft(id, { body: 'We refund it' }),
    work: async (hand) => {
      await hand.click(hand.button('Edit'));
      await hand.write(' today.');
      await hand.click(hand.button('Save and send'));
    },
    done: ({ id }) => has(id, { body: 'We refund it today.', edited_by: ada.id }),
    best: 2,
  },
  'reject a draft with a reason': {
    given: ({ id }) => cases.draft(id, { body: 'We refund nothing.' }),
    work: async (hand) => {
      await hand.click(hand.button('Reject'));
      await hand.write('We do.');
      await hand.press('Enter');
    },
    done: async ({ id }) => (await messages(id, 'rejected')).length === 1,
    best: 2,
  },
  'schedule an answer': {
    given: async () => {},
    work: async (hand) => {
      await hand.page.keyboard.press('r');
      await hand.write('Tomorrow');
      await hand.click(hand.button('Send later'));
      await hand.click(hand.page.getByRole('menuitem', { name: /Tomorrow morning/ }));
    },
    done: async ({ id }) =>
      (await messages(id, 'scheduled')).some(({ visibility }) => visibility === 'external'),
    best: 2,
  },
  'snooze by keys': {
    work: async (hand) => {
      await hand.press('s');
      await hand.page.getByRole('menuitem').first().and(hand.page.locator(':focus')).waitFor();
      await hand.press('Enter');
    },
    done: async ({ id }) => (await read(id)).snoozed === true,
    best: 2,
  },
  'snooze by clicks': {
    work: async (hand) => {
      await hand.click(hand.button('Snooze…'));
      await hand.click(hand.page.getByRole('menuitem', { name: /Until tomorrow/ }));
    },
    done: async ({ id }) => (await read(id)).snoozed === true,
    best: 2,
  },
  'assign to me': {
    work: (hand) => hand.click(hand.button('Assign to me')),
    done: async ({ id }) => (await read(id)).assignee_id === ada.id,
    best: 1,
  },
  'assign to another': {
    work: async (hand) => {
      await hand.press('a');
      await hand.write('grace');
      await hand.page.getByRole('option', { name: /Grace Hopper/ }).waitFor();
      await hand.press('Enter');
    },
    done: async ({ id }) => (await read(id)).assignee_id === grace.id,
    best: 2,
  },
  'move to a lane': {
    work: async (hand) => {
      await hand.click(hand.button(/^Lane/));
      await hand.click(hand.page.getByRole('menuitemradio', { name: 'Waiting for the team' }));
    },
    done: ({ id }) => isIn(id, 'waiting_internal'),
    best: 2,
  },
  'resolve by key': {
    work: (hand) => hand.press('e'),
    done: ({ id }) => isIn(id, 'resolved'),
    best: 1,
  },
  'resolve by click': {
    work: (hand) => hand.click(hand.button('Resolve')),
    done: ({ id }) => isIn(id, 'resolved'),
    best: 1,
  },
  'resolve by the palette': {
    work: async (hand) => {
      await hand.press('Control+k');
      await hand.write('resolve');
      await hand.page.getByRole('option', { name: /^Resolve/, selected: true }).waitFor();
      await hand.press('Enter');
    },
    done: ({ id }) => isIn(id, 'resolved'),
    best: 2,
  },
  reopen: {
    given: ({ id }) => call('PATCH', path(id), { body: { workflow_status: 'resolved' } }),
    work: (hand) => hand.click(hand.button('Reopen')),
    done: ({ id }) => isIn(id, 'open'),
    best: 1,
  },
  'find an old case by words': {
    given: ({ id, customerToken: token }) => cases.sent(id, { body: `Kiwi ${id}` }, { token }),
    work: async (hand, { id }) => {
      await hand.press('/');
      await hand.write(`Kiwi ${id}`);
      await hand.click(hand.page.locator('.search-hit').first());
    },
    done: ({ id }, page) => page.getByRole('log').getByText(`Kiwi ${id}`).isVisible(),
    best: 2,
  },
  'see what is mine': {
    given: ({ id }) => call('PATCH', path(id), { body: { assignee_id: ada.id } }),
    work: (hand) => hand.click(hand.button(/^Mine/)),
    done: async ({ id }, page) => {
      const isChosen = (await page.locator('.inbox-view[aria-pressed=true]').textContent())?.startsWith(
        'Mine',
      );
      return isChosen === true && (await page.locator(`.inbox-row[data-id="${id}"]`).isVisible());
    },
    best: 1,
  },
  'see what nobody has': {
    work: (hand) => hand.click(hand.page.getByRole('link', { name: /^Work/ })),
    done: ({ id }, page) =>
      page.getByRole('region', { name: 'Without an owner' }).locator(`a[href*="${id}"]`).isVisible(),
    best: 1,
  },
  'resolve two cases at once': {
    work: async (hand, { id }) => {
      const rows = hand.page.locator('.inbox-row');
      const [other] = await rows.evaluateAll(
        (all, own) =>
          (all as unknown as { readonly dataset: { readonly id: string } }[])
            .map(({ dataset }) => dataset.id)
            .filter((one) => one !== own),
        id,
      );
      for (const one of [id, other]) {
        await hand.page.locator(`.inbox-row[data-id="${one}"]`).hover();
        await hand.click(hand.page.locator(`.inbox-row[data-id="${one}"]`).getByRole('checkbox'));
      }
      const bar = hand.page.getByRole('toolbar', { name: 'Actions on the selected conversations' });
      await hand.click(bar.getByRole('button', { name: 'Resolve' }));
      await until(() => isIn(other!, 'resolved'), { what: 'the other case' });
    },
    done: ({ id }) => isIn(id, 'resolved'),
    best: 3,
  },
};

for (const [name, { given, work, done, best }] of Object.entries(JOBS)) {
  t.test(name, async (t) => {
    const one = await opened();
    await given?.(one);
    const page = await browser.open('ada', `c/${one.id}`);
    await page.getByRole('log').getByText('Where is it?').waitFor();
    const hand = new Hand(page);
    await work(hand, one);
    await until(() => done(one, page), { what: name });
    t.ok(hand.count <= best, `${hand.count} of ${best}`);
    await until(() => page.evaluate<boolean>('document.activeElement !== document.body'), {
      what: `the focus in the page after: ${name}`,
    });
    await page.close();
  });
}

t.test('who the customer is, and what else it has asked, stand beside the case', async (t) => {
  const conversations = new Conversations(app);
  const participants = [{ type: 'customer', name: 'Cleo', email: 'cleo.jobs@example.net' }];
  const [first, second] = [
    await conversations.createCase({ title: 'Broken lamp', participants }),
    await conversations.createCase({ title: 'Lost parcel', participants }),
  ];
  const page = await browser.open('ada', `c/${first.conversation.id}`);
  await page.getByRole('button', { name: 'Details' }).click();
  const pane = page.getByRole('complementary', { name: 'Details' });
  await pane.getByRole('region', { name: 'Customer' }).getByText('cleo.jobs@example.net').waitFor();

  t.comment('from now on: 0 to see it, and 1 to the other case, as in the best of them');
  await browser.go(page, `c/${second.conversation.id}`);
  await page.getByRole('heading', { level: 1, name: 'Lost parcel' }).waitFor();
  await pane.getByRole('region', { name: 'Customer' }).getByText('cleo.jobs@example.net').waitFor();
  const hand = new Hand(page);
  await hand.click(
    pane.getByRole('region', { name: 'Other cases' }).getByRole('link', { name: /Broken lamp/ }),
  );
  await page.getByRole('heading', { level: 1, name: 'Broken lamp' }).waitFor();
  t.equal(hand.count, 1);
  await pane.getByRole('button', { name: 'Close the pane' }).click();
  await pane.waitFor({ state: 'detached' });
  await page.close();
});

t.test('a resolved case is read, leaves the list for the next one, and comes back by Undo', async (t) => {
  const [first, second] = [await opened(), await opened()];
  await cases.sent(second.id, { body: 'Later', scheduled_at: inAnHour() }, { token: ada.access_token });
  const page = await browser.open('ada', `c/${second.id}`);
  const row = (id: string) => page.locator(`.inbox-row[data-id="${id}"]`);
  await row(first.id).waitFor();
  await row(second.id).waitFor();
  await call('PATCH', path(second.id), {
    body: { workflow_status: 'waiting_internal' },
    token: grace.access_token,
  });
  await page.getByRole('button', { name: 'Lane: Waiting for the team' }).waitFor();
  await until(async () => (await read(second.id)).unread === 0, { what: 'everything to be read' });
  await page.keyboard.press('e');
  await page.waitForURL(new RegExp(first.id));
  await row(second.id).waitFor({ state: 'detached' });
  await page.getByText('Resolved. 1 scheduled message will still be sent.').waitFor();
  const noise = (await messages(second.id)).filter(({ kind }) => kind === 'system_event');
  t.match(noise[0], { body: 'The conversation was resolved.', event: { type: 'resolved', by: ada.id } });
  t.match(await read(second.id), { workflow_status: 'resolved', unread: 0 });

  await page.keyboard.press('z');
  await page.waitForURL(new RegExp(second.id));
  await row(second.id).waitFor();
  await page.getByRole('button', { name: 'Lane: Waiting for the team' }).waitFor();
  t.equal((await read(second.id)).workflow_status, 'waiting_internal');
  await until(async () => (await read(second.id)).unread === 0, { what: 'no own act is unread' });
  await page.close();
});

t.test('a snoozed case says until when: at once, in its head and in its view', async (t) => {
  const { id } = await opened();
  const page = await browser.open('ada', `c/${id}`);
  await page.getByRole('button', { name: 'Snooze…' }).click();
  await page.getByRole('menuitem', { name: /Until tomorrow/ }).click();
  const notice = page.getByRole('status').filter({ hasText: /Snoozed until .*\d/ });
  await notice.getByRole('button', { name: 'Undo' }).waitFor();
  await page
    .locator('.conversation-head')
    .getByText(/Snoozed until .*\d/)
    .waitFor();
  await page.getByRole('button', { name: 'More views' }).click();
  await page.getByRole('menuitemradio', { name: /Snoozed/ }).click();
  await page
    .locator(`.inbox-row[data-id="${id}"]`)
    .getByText(/^until .*\d/)
    .waitFor();
  await notice.getByRole('button', { name: 'Undo' }).click();
  await page.locator('.conversation-snoozed').waitFor({ state: 'detached' });
  t.notOk((await read(id)).snoozed);
  await page.close();
});

t.test('a new case begins with the audience that the person chose last, a thread with a note', async (t) => {
  const { id } = await opened();
  const page = await browser.open('grace', `c/${id}`);
  const reply = page.getByRole('radio', { name: 'Reply to the customer' });
  await page.getByRole('radio', { name: 'Note to the team' }).waitFor();
  t.notOk(await reply.isChecked(), 'at first a note');
  await page.getByText('Reply to the customer').click();
  await page.keyboard.type('n? /e');
  t.equal(await page.getByRole('textbox', { name: 'Reply to the customer' }).inputValue(), 'n? /e');
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  const other = await opened();
  await browser.go(page, `c/${other.id}`);
  await page.getByRole('log').getByText('Where is it?').waitFor();
  t.ok(await reply.isChecked());
  await page.getByRole('article', { name: /Where is it/ }).focus();
  await page.keyboard.press('t');
  const thread = page.getByRole('complementary', { name: 'Thread' });
  t.ok(await thread.getByRole('radio', { name: 'Note to the team' }).isChecked());
  await page.close();
});

t.test('J and K go through the list from anywhere', async () => {
  const [first, second] = [await opened(), await opened()];
  const page = await browser.open('ada', `c/${second.id}`);
  await page.locator(`.inbox-row[data-id="${first.id}"]`).waitFor();
  await page.getByRole('article', { name: /Where is it/ }).focus();
  await page.keyboard.press('j');
  await page.waitForURL(new RegExp(first.id));
  await page.keyboard.press('k');
  await page.waitForURL(new RegExp(second.id));
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

function path(id: string): string {
  return `/v1/messaging/conversations/${id}`;
}

async function read(id: string): Promise<Conversation> {
  const { body } = await call<Conversation>('GET', path(id), { token: ada.access_token });
  return body;
}

async function isIn(id: string, lane: string): Promise<boolean> {
  return (await read(id)).workflow_status === lane;
}

async function messages(id: string, status = 'sent'): Promise<ChatMessage[]> {
  const { body } = await call<{ data: ChatMessage[] }>('GET', `${path(id)}/messages?status=${status}`);
  return body.data;
}

async function has(id: string, fields: Partial<ChatMessage>): Promise<boolean> {
  const wanted = Object.entries(fields);
  return (await messages(id)).some((one) =>
    wanted.every(([name, value]) => one[name as keyof ChatMessage] === value),
  );
}

function inAnHour(): string {
  return new Date(Date.now() + 3_600_000).toISOString();
}
