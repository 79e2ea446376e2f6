/**
 * The reference of the SDK: the build's reading of its declarations, and the page of a server.
 *
 * Without influence: OPERATION, PAGES, ANSWERS, src/core/installation, src/features/cells,
 * src/features/identity, src/features/import, src/features/mail, src/features/platform-events,
 * src/features/search, src/platform/outbound.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'rolldown/utils';
import t from 'tap';
import type {
  SdkMember,
  SdkName,
  SdkReference,
  Signature,
} from '../../../src/api/documents/pages/sdk-reference.ts';
import { startTestApp } from '../../support/app.ts';
import { builtClient } from '../../support/built-client.ts';
import { startChromium } from '../../support/chromium.ts';

const PACKAGE = builtClient();
const { name: packageName, exports } = json('package.json') as {
  readonly name: string;
  readonly exports: Readonly<Record<string, { readonly types?: string }>>;
};
const { areas } = json('dist/served/reference.json') as SdkReference;
const names = areas.flatMap((area) => area.names);
const exported = names.filter(({ entries }) => entries.length > 0);

t.test('it has every name that an entry of the package exports', async (t) => {
  for (const [entry, { types }] of Object.entries(exports)) {
    if (types === undefined) continue;
    const importName = join(packageName, entry);
    const found = exported.filter(({ entries }) => entries.includes(importName)).map(({ name }) => name);
    // A function with overloads has a declaration for each.
    const declared = new Set(exportsOf(join(PACKAGE, types)));
    t.strictSame(found.toSorted(), [...declared].toSorted(), importName);
  }
});

t.test('every public name and member has a doc comment', async (t) => {
  const ours = exported.filter(({ isPrinted }) => !isPrinted);
  t.strictSame(
    ours.flatMap(({ anchor, doc, members }) => [
      ...(doc === '' ? [anchor] : []),
      ...members.filter((member) => member.doc === '' && member.from === null).map((member) => member.anchor),
    ]),
    [],
    'these have none',
  );
});

t.test('comments name what is there', async (t) => {
  const known = new Set(
    names.flatMap(({ name, members }) => [name, ...members.map((one) => `${name}.${one.name}`)]),
  );
  for (const { anchor, doc } of exported.flatMap((name): (SdkName | SdkMember)[] => [
    name,
    ...name.members,
  ])) {
    for (const [mentioned] of doc.matchAll(/\b[A-Z]\w+\.[a-z]\w+\b/g)) {
      if (!known.has(mentioned)) t.fail(`${anchor} mentions ${mentioned}`);
    }
    if (/\bdocs\/|\.ts\b/.test(doc)) t.fail(`${anchor} mentions a file of the repository`);
  }
});

t.test('members are those of the whole class, in its own types', async (t) => {
  const client = named('Client');
  for (const member of ['connection', 'inbox', 'conversation', 'search', 'close']) {
    t.ok(
      client.members.some(({ name }) => name === member),
      member,
    );
  }
  t.notOk(
    client.members.some(({ name }) => name === 'closing'),
    'no protected one',
  );
  t.match(memberOf('Client', 'state').doc, /connected/, 'a comment of the class that it extends');
  const conversation = named('LiveConversation');
  t.equal(
    spelled(conversation.signatures[0]),
    'class LiveConversation extends LiveObject<ConversationSnapshot, ConversationEvents>',
    'without the classes between, which are not exported',
  );
  const snapshot = memberOf('LiveConversation', 'snapshot');
  t.match(snapshot, {
    from: 'LiveObject',
    signatures: [['get snapshot(): ', ['ConversationSnapshot', '#ConversationSnapshot']]],
  });
  t.equal(memberOf('SocketLike', 'addEventListener').signatures.length, 3, 'overloads');
  for (const [name, member] of [
    ['Inbox', 'constructor'],
    ['ConnectionStatus', 'set'],
  ] as const) {
    t.strictSame(memberOf(name, member).signatures, [], `${member} of ${name} is not for applications`);
  }
  t.equal(spelled(named('DeclaredStatus').signatures[0]), 'type DeclaredStatus = "online" | "away"');
  t.match(memberOf('OutgoingMessage', 'request').signatures, [
    ['readonly request: ', ['SendMessageBody', '#SendMessageBody']],
  ]);
});

t.test('the page has a place for every name and member, to which signatures lead', async (t) => {
  const app = await startTestApp(t);
  const response = await fetch(`${app.baseUrl}/docs/sdk`);
  t.equal(response.status, 200);
  t.match(response.headers.get('content-security-policy'), "default-src 'self'");
  const page = await response.text();
  for (const { anchor, members } of names) {
    t.ok(page.includes(`<details class="operation" id="${anchor}">`), anchor);
    t.ok(page.includes(`<li><a href="#${anchor}">`), `${anchor} is among the contents`);
    for (const member of members) {
      if (!page.includes(`<div id="${member.anchor}">`)) t.fail(`${member.anchor} has no place`);
    }
  }
  for (const text of [
    'onMessage(message: <a href="#Message">Message</a>): void',
    'conversation: <a href="#Conversation">Conversation</a> | null',
    '<a href="#Client.request"><code>Client.request</code></a>',
    '<a href="/docs#schema-chat_message">chat_message</a>',
    '<code>@parley/client/store</code>',
  ]) {
    t.ok(page.includes(text), text);
  }
});

t.test('in a browser a name is found by its members, and an address opens what it names', async (t) => {
  const app = await startTestApp(t);
  const page = await (await startChromium(t)).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.setViewportSize({ width: 400, height: 800 });
  await page.goto(`${app.baseUrl}/docs/sdk#LiveThread.markRead`);
  await page.getByText("Moves the caller's position in the thread").waitFor();
  const [whole, seen] = await page.evaluate<number[]>('[document.documentElement.scrollWidth, innerWidth]');
  t.equal(whole, seen, 'nothing is wider than a phone');
  t.equal(seen, 400);

  await page.locator('#contents > summary').click();
  await page.getByLabel('Find a name').fill('markread');
  await page.getByText(/^\d of \d+ names$/).waitFor();
  const listed = page.getByRole('navigation', { name: 'Names' }).getByRole('listitem');
  const shown = await listed.filter({ visible: true }).allTextContents();
  t.ok(shown.includes('LiveThread') && !shown.includes('connect'), shown.join(' '));
  await listed.filter({ hasText: 'LiveConversation' }).getByRole('link').click();
  await page.getByText('Pins a message in the conversation').waitFor();
  t.strictSame(complaints, [], 'the policy forbids nothing that the page does');
});

function named(name: string): SdkName {
  return exported.find((one) => one.name === name)!;
}

function memberOf(name: string, member: string): SdkMember {
  return named(name).members.find((one) => one.name === member)!;
}

function spelled(signature: Signature = []): string {
  return signature.map((piece) => (typeof piece === 'string' ? piece : piece[0])).join('');
}

/** Returns the names that a bundle of declarations exports. */
function exportsOf(file: string): string[] {
  const { program } = parseSync(file, readFileSync(file, 'utf8'));
  return program.body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return [];
    const { declaration, specifiers } = statement;
    const declared = declaration?.type === 'VariableDeclaration' ? declaration.declarations : [declaration];
    const own = declared.flatMap((one) =>
      one !== null && 'id' in one && one.id?.type === 'Identifier' ? [one.id.name] : [],
    );
    return [
      ...own,
      ...specifiers.map(({ exported }) => (exported.type === 'Literal' ? exported.value : exported.name)),
    ];
  });
}

function json(path: string): unknown {
  return JSON.parse(readFileSync(join(PACKAGE, path), 'utf8'));
}
