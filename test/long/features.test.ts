/**
 * Each feature can be left out: its folders, and its two lines in src/app/features.ts and in the
 * lists of settings, commands and pages of the console.
 *
 * Without influence: packages/widget, packages/ui.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { WEBHOOK_EVENTS } from '@parley/protocol/webhook-events.ts';
import t from 'tap';
import { FEATURES, HOOKS } from '../../src/app/features.ts';
import { SETTINGS_OF_FEATURES, TASKS_OF_FEATURES, TOPICS_OF_FEATURES } from '../../src/app/left-out.ts';
import { compile, compileBy, copyWithout } from '../support/copy-without.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDERS = readdirSync(join(ROOT, 'src/features'));

t.test('each folder of features/ has a face, and the list has each face once', async (t) => {
  const list = readFileSync(join(ROOT, 'src/app/features.ts'), 'utf8');
  const imports = [...list.matchAll(/^import \{ (\w+) \} from '\.\.\/features\/([\w-]+)\/feature\.ts';$/gm)];
  t.strictSame(imports.map(([, , folder]) => folder).sort(), FOLDERS.sort());
  for (const [, name] of imports) {
    t.equal(list.match(new RegExp(`^  ${name},`, 'gm'))?.length, 1, `the entry of ${name}`);
  }
  t.equal(FEATURES.length, FOLDERS.length);
});

/**
 * That the others compile without any one of them follows: no feature imports another, names its
 * tables or declares anything else outside its modules (test/architecture.test.ts).
 */
t.test('without all of them the rest compiles, and nothing that needs one does', async (t) => {
  const copy = mkdtempSync(join(tmpdir(), 'parley-without-'));
  t.teardown(() => rmSync(copy, { recursive: true }));
  copyWithout(FOLDERS, copy);
  const needy = [
    "import type { Vapid } from './features/push/web/vapid.ts';",
    "import type { Schema } from './platform/db/tables/schema.ts';",
    "export const mail = (vapid: Vapid): Schema['mails'] => vapid.mail;",
  ];
  writeFileSync(join(copy, 'src/needy.ts'), `${needy.join('\n')}\n`);
  const found = (await compile(copy)).trim().split('\n');
  t.match(found, [
    /^src\/needy\.ts\(1,28\): error TS2307: /,
    /^src\/needy\.ts\(3,44\): error TS2339: .*'mails'/,
  ]);
  t.equal(found.length, 2, 'nothing else');
});

t.test('the console compiles without the pages of any of them', async (t) => {
  const copy = mkdtempSync(join(tmpdir(), 'parley-console-without-'));
  t.teardown(() => rmSync(copy, { recursive: true }));
  copyWithout(FOLDERS, copy, ['tsconfig.pages.json']);
  const left = readdirSync(join(copy, 'packages/console')).filter((name) => FOLDERS.includes(name));
  t.strictSame(left.sort(), ['mail', 'search'], 'what conversations show of them');
  t.equal(await compileBy(copy, 'tsconfig.pages.json'), '');
});

t.test('what a feature handles is dropped by name in a build without it', async (t) => {
  const files = readdirSync(join(ROOT, 'src/features'), { recursive: true, encoding: 'utf8' });
  const text = files
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(ROOT, 'src/features', path), 'utf8'))
    .join('\n');
  const defined = [...text.matchAll(/= defineTopic<.+>\('([^']+)'\)/g)].map(([, name]) => name);
  // The core enqueues them.
  const expected = [...defined, 'addresses.confirmation_due', 'messages.email_due'];
  t.strictSame([...TOPICS_OF_FEATURES, ...TASKS_OF_FEATURES].sort(), expected.sort());
  const settings = HOOKS.all('setting');
  t.strictSame(settings, SETTINGS_OF_FEATURES);
});

t.test('each event of webhooks that is none of a conversation has a feature that reads it', async (t) => {
  const read = HOOKS.all('eventReaders').flatMap((readers) => Object.keys(readers));
  t.strictSame(read.sort(), ['*', 'agent_run.completed', 'email.received', 'message.question_ended']);
  for (const name of read.filter((name) => name !== '*')) t.ok(WEBHOOK_EVENTS.some((it) => it === name));
});
