/**
 * What the demo page draws: cards of what waits for an approval, and notes that cannot be taken for
 * replies.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { type Client, connect } from '../../src/contract/client/index.ts';
import { startTestApp } from '../support/app.ts';
import { FakeElement, fakeDocument } from '../support/fake-document.ts';
import { until } from '../support/until.ts';

const ASSETS = join(import.meta.dirname, '../../src/edge/console/assets');
fakeDocument();

t.test('a card comes and goes in the panes of all who may decide, while the page is open', async (t) => {
  const app = await startTestApp(t);
  const { account_id: account, users, conversations, agent } = app.demo;
  const open = (token: string) => {
    const client = connect({ url: app.baseUrl, account, version: '1.2.harbor', token });
    t.teardown(() => client.close());
    return client;
  };
  const { Approvals } = await assetOf<ApprovalsModule>('approvals.js');
  const problems: Error[] = [];
  const paneOf = async (client: Client) => {
    const approvals = new Approvals({ client }, (error) => problems.push(error));
    await approvals.ready;
    await until(() => client.state === 'live', { what: 'live' });
    return approvals.box;
  };
  const ada = open(users.ada.access_token);
  const grace = open(users.grace.access_token);
  const panes = [await paneOf(ada), await paneOf(grace), await paneOf(open(users.vera.access_token))];
  const cards = () => panes.map(({ children }) => children.length);
  t.strictSame(cards(), [0, 0, 0]);

  const ask = () => ada.send(conversations.group, `@${agent.slug} Create a summary.`);
  await ask();
  await until(() => cards().join() === '1,1,0', { what: 'a card for Ada and Grace, none for Vera' });
  t.match(panes[1]!.textContent, /^Assistant asks for approval in Demo group, to call create_artifact/);
  panes.push(await paneOf(open(users.grace.access_token)));
  t.strictSame(cards(), [1, 1, 0, 1], 'also in a page that is opened later');

  press(panes[1]!, 'Approve');
  await until(() => cards().join() === '0,0,0,0', { what: 'no card is left anywhere' });

  t.comment('two decide at once: the second one sees no error');
  await ask();
  await until(() => cards().join() === '1,1,0,1', { what: 'cards of another run' });
  press(panes[0]!, 'Reject');
  press(panes[1]!, 'Approve');
  await until(() => cards().join() === '0,0,0,0', { what: 'no card is left anywhere' });
  t.strictSame(problems, []);
});

t.test('the list of conversations follows what others do, and draws only what has changed', async (t) => {
  const app = await startTestApp(t);
  const { account_id: account, users, conversations } = app.demo;
  const open = (token: string) => {
    const client = connect({ url: app.baseUrl, account, token });
    t.teardown(() => client.close());
    return client;
  };
  const [ada, grace] = [open(users.ada.access_token), open(users.grace.access_token)];
  const { Inbox } = await assetOf<InboxModule>('inbox.js');
  const counts: number[] = [];
  const errors: string[] = [];
  const inbox = new Inbox(
    { key: 'grace', name: 'Grace', id: users.grace.id, client: grace },
    {
      isTeam: true,
      open() {},
      changed: (unread) => counts.push(unread),
      report: (error) => errors.push(error.message),
    },
  );
  const rows = () => inbox.rows.querySelectorAll('button');
  await ada.send(conversations.group, 'first');
  await until(() => rows()[0]?.textContent.includes('first'), { what: 'the message in its row' });
  await until(() => counts.at(-1) === 1, { what: 'the badge' });
  const before = rows();
  await ada.send(conversations.direct, 'second');
  await until(() => rows()[0]?.textContent.includes('second'), { what: 'the other one at the top' });
  t.equal(rows()[1], before[0], 'the row that did not change is the same element');
  const [filter] = inbox.root.querySelectorAll('select') as [FakeElement];
  filter.value = 'unread';
  filter.act('change');
  await until(() => rows().length === 2, { what: 'what is unread' });
  await grace.conversations.markAllRead();
  await until(() => inbox.rows.textContent === 'Nothing here.', { what: 'nothing unread' });
  t.strictSame(
    errors.filter((message) => message !== ''),
    [],
  );
});

t.test('on a case, what is written is a note unless the reply is chosen', async (t) => {
  const { Composer } = await assetOf<ComposerModule>('composer.js');
  const sent: unknown[] = [];
  const conversation = { typing() {}, send: async (body: unknown) => sent.push(body) };
  const composer = new Composer({ key: 'ada', name: 'Ada' }, conversation, { isTeam: true, hints: [] });
  const [select] = composer.root.querySelectorAll('select') as [FakeElement];
  const [form] = composer.root.querySelectorAll('form') as [FakeElement];
  const input = form.querySelectorAll('input').at(-1)!;
  const button = form.querySelectorAll('button').at(-1)!;
  const write = (text: string) => {
    input.value = text;
    form.act('submit');
  };

  composer.chooseAudience(true);
  t.ok(composer.root.classes.has('note'));
  t.match([input.placeholder, button.textContent], ['Write a note', 'Add note']);
  write('He is in a hurry.');
  select.value = 'customer';
  select.act('change');
  t.notOk(composer.root.classes.has('note'));
  t.match([input.placeholder, button.textContent], ['Write to the customer', 'Send reply']);
  write('It leaves today.');
  t.strictSame(sent, [
    { body: 'He is in a hurry.', audience: 'internal' },
    { body: 'It leaves today.', audience: 'customer' },
  ]);

  composer.chooseAudience(false);
  t.notOk(composer.root.classes.has('note'));
  t.match([input.placeholder, button.textContent], ['Write a message', 'Send']);
});

t.test('a note has its colour and its words, from the local echo on, and for the team alone', async (t) => {
  const { Timeline } = await assetOf<TimelineModule>('timeline.js');
  const timeline = new Timeline({ id: 'act_ada', name: 'Ada' }, { messages: [] }, {});
  const drawn = (message: object) => {
    const row = new FakeElement('article');
    timeline.fill(row, { sender: { id: 'act_ada' }, delivery: 'sent', created_at: '2026-01-01', ...message });
    return { isNote: row.classes.has('note'), text: row.textContent };
  };
  const note = { visibility: 'internal', body: 'He is in a hurry.' };
  const reply = { visibility: 'external', body: 'It leaves today.' };
  t.notOk(drawn(note).isNote, 'not where there is no customer');
  timeline.open({ marksNotes: true });
  t.ok(drawn(note).isNote);
  t.match(drawn(note).text, /^Note to the team, not seen by the customer/);
  t.notOk(drawn(reply).isNote);
  t.notMatch(drawn(reply).text, /Note/);
  const echo = { delivery: 'pending', body: 'x', deleted_at: null };
  t.ok(drawn({ ...echo, request: { audience: 'internal' } }).isNote);
  t.ok(drawn({ ...echo, request: {} }).isNote, 'as the server has it without an audience');
  t.notOk(drawn({ ...echo, request: { audience: 'customer' } }).isNote);
});

t.test(
  'the newest message stays in sight when the box becomes smaller, unless the person has scrolled',
  async (t) => {
    const { Timeline } = await assetOf<TimelineModule>('timeline.js');
    const { root } = new Timeline({ id: 'act_ada', name: 'Ada' }, { messages: [] }, {});
    const box = Object.assign(root, { scrollHeight: 900, clientHeight: 400, scrollTop: 0 });
    box.act('resize');
    t.equal(box.scrollTop, 900);

    // A card takes place above it. The browser reports the scrolling of before first.
    Object.assign(box, { clientHeight: 200, scrollTop: 500 }).act('scroll');
    box.act('resize');
    t.equal(box.scrollTop, 900);

    box.scrollTop = 100;
    box.act('scroll');
    Object.assign(box, { clientHeight: 400 }).act('resize');
    t.equal(box.scrollTop, 100, 'what is being read stays');
  },
);

t.test('yellow with a contrast of WCAG AA, in both schemes', async (t) => {
  const css = readFileSync(join(ASSETS, 'demo.css'), 'utf8');
  const schemesOf = (name: string) => {
    const [, light = '', dark = ''] =
      new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`).exec(css) ?? [];
    return [light, dark] as const;
  };
  const [ground, text, line] = [schemesOf('note'), schemesOf('note-text'), schemesOf('note-line')];
  for (const scheme of [0, 1] as const) {
    const [red, green, blue] = channelsOf(ground[scheme]);
    t.ok(red! > blue! * 1.3 && green! > blue! * 1.3, `${ground[scheme]} is yellow`);
    t.ok(
      contrastOf(text[scheme], ground[scheme]) >= 4.5,
      `text: ${contrastOf(text[scheme], ground[scheme])}`,
    );
  }
  t.ok(line.every((colour) => colour !== ''));
});

t.test('a picture has its place before it has arrived', async (t) => {
  const [, rule = ''] =
    /^\.files img \{([^}]*)\}/m.exec(readFileSync(join(ASSETS, 'demo.css'), 'utf8')) ?? [];
  t.match(rule, /^ {2}height: [\d.]+rem;$/m);
});

function press(box: FakeElement, label: string): void {
  const button = box.querySelectorAll('button').find(({ textContent }) => textContent === label);
  button!.act('click');
}

async function assetOf<Module>(name: string): Promise<Module> {
  return (await import(pathToFileURL(join(ASSETS, name)).href)) as Module;
}

interface ApprovalsModule {
  readonly Approvals: new (
    person: { readonly client: Client },
    report: (error: Error) => void,
  ) => { readonly box: FakeElement; readonly ready: Promise<void> };
}

interface InboxModule {
  readonly Inbox: new (
    person: object,
    options: {
      readonly isTeam: boolean;
      open(): void;
      changed(unread: number): void;
      report(error: Error): void;
    },
  ) => { readonly root: FakeElement; readonly rows: FakeElement };
}

interface ComposerModule {
  readonly Composer: new (
    person: object,
    conversation: object,
    options: object,
  ) => { readonly root: FakeElement; chooseAudience(isCase: boolean): void };
}

interface TimelineModule {
  readonly Timeline: new (
    person: object,
    conversation: object,
    options: object,
  ) => {
    readonly root: FakeElement;
    fill(row: FakeElement, message: object): void;
    open(options: { marksNotes: boolean }): void;
  };
}

function channelsOf(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

/** WCAG 2, contrast ratio. */
function contrastOf(one: string, other: string): number {
  const [lighter, darker] = [one, other].map(luminanceOf).sort((a, b) => b - a) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

function luminanceOf(colour: string): number {
  const [red, green, blue] = channelsOf(colour).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
