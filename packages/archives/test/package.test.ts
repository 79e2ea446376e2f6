/** The package that converts archives: in a folder of its own, as a stranger runs it. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { mattermostContents, slackContents, zulipContents } from '../../../test/import/samples.ts';
import { freshDirectory, runProgram } from '../../../test/start/parley.ts';
import { builtArchives } from '../../../test/support/built-client.ts';
import { given, tarOf, zipOf } from './archives.ts';

const directory = freshDirectory(t);
const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', directory, builtArchives()];
const packed = await runProgram('npm', pack, process.env, directory);
await runProgram('tar', ['-xzf', packed.stdout.trim()], {}, directory);

function command(...args: string[]) {
  const path = join(directory, 'package/dist/parley-archives.js');
  return runProgram(process.execPath, [path, ...args], {}, directory);
}

t.test('the tarball has the command, its modules and the licences, and asks for nothing', (t) => {
  const { dependencies, scripts, bin } = JSON.parse(
    readFileSync(join(directory, 'package/package.json'), 'utf8'),
  );
  t.strictSame([dependencies, scripts], [undefined, undefined]);
  t.strictSame(bin, { 'parley-archives': './dist/parley-archives.js' });
  t.strictSame(readdirSync(join(directory, 'package')).sort(), ['README.md', 'dist', 'package.json']);
  for (const name of readdirSync(join(directory, 'package/dist'), { recursive: true, encoding: 'utf8' })) {
    t.match(name, /^(chunks|LICENSE(-OF-OTHERS)?|(chunks\/)?[\w-]+\.js)$/);
  }
  const licences = readFileSync(join(directory, 'package/dist/LICENSE-OF-OTHERS'), 'utf8');
  for (const name of ['yauzl', 'yazl', 'modern-tar', 'gemoji', 'typebox']) {
    t.match(licences, new RegExp(`^${name}\n\n`, 'm'));
  }
  t.end();
});

t.test('it converts archives of each source, and prints what they have', async (t) => {
  const notes = await zipOf(directory, {
    ...slackContents(20, [{ id: 'F1', name: 'a.txt' }, { id: 'F2' }]),
    '__uploads/F1/a.txt': 'whole',
  });
  const zulip = await tarOf(directory, zulipContents(20));
  const mattermost = await zipOf(directory, { 'import.jsonl': mattermostContents(20) });
  for (const [source, archive, messages] of [
    ['slack', notes, 21],
    ['mattermost', mattermost, 20],
    ['zulip', zulip, 20],
    ['parley', 'slack.zip', 21],
  ] as const) {
    const { code, stdout, stderr } = await command('convert', source, archive, `${source}.zip`);
    t.match({ code, stderr }, { code: 0, stderr: '' }, source);
    t.match(stdout, new RegExp(`^messages: ${messages}$`, 'm'));
    t.match(stdout, new RegExp(`^${source}\\.zip is complete\\.\n$`, 'm'));
    if (messages === 21) t.match(stdout, /^left out: 1 of files, no_url: .*\(general.*\)\n(.*\n)+files: 1$/m);
    const all = await given('parley', join(directory, `${source}.zip`), { scratch: directory });
    t.equal(all.messages.length, messages);
  }
});

t.test('it ends with 1 and a sentence, and with 2 where it was asked for something else', async (t) => {
  const noise = await zipOf(directory, { 'notes.json': 'x' });
  for (const [args, expected, said] of [
    [['convert', 'slack', noise, 'new.zip'], 1, /^parley-archives: This is no export of Slack: .*\.\n$/],
    [['convert', 'zulip', noise, 'new.zip'], 1, /^parley-archives: This is not the \.tar\.gz file.*\n$/],
    [['convert', 'slack', 'none.zip', 'new.zip'], 1, /^parley-archives: no such file.*none\.zip'\n$/],
    [['convert', 'slack', noise, 'package'], 1, /^parley-archives: package is there already\. .*\n$/],
    [['convert', 'irc', noise, 'new.zip'], 2, /^parley-archives: The source is one of: slack, .*\n$/],
    [['convert', 'slack', noise], 2, /^parley-archives: convert takes .*\n$/],
    [['convert', '--fast'], 2, /^parley-archives: .*--fast/],
    [[], 2, /^parley-archives: convert takes .*\n$/],
  ] as const) {
    const { code, stdout, stderr } = await command(...args);
    t.match({ code, stdout, stderr }, { code: expected, stdout: '', stderr: said }, args.join(' '));
  }
  for (const help of ['--help', '-h']) {
    t.match(await command(help), { code: 0, stderr: '', stdout: /^Usage: parley-archives convert <source>/ });
  }
  t.strictSame(
    readdirSync(directory).filter((name) => name.startsWith('new.zip')),
    [],
  );
});
