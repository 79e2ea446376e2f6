import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { whenOutputEnded } from './last-output.ts';

/** Runs a command of the operator in a process of its own, which can be killed. */
export function startAdmin(args: readonly string[], config: Readonly<Record<string, string>>) {
  const main = join(import.meta.dirname, '../../src/app/main.ts');
  const env = { ...process.env, ...config };
  const child = spawn(process.execPath, [main, 'admin', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  return { child, ended: whenOutputEnded(child), out: () => out, err: () => err };
}
