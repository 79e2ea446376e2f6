import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { whenOutputEnded } from './last-output.ts';
import type { Teardown } from './teardown.ts';

export interface Child {
  readonly process: ChildProcess;
  /**
   * The JSON that the script printed as its first line. Rejects with its last output if there is
   * none.
   */
  readonly output: Promise<Record<string, unknown>>;
  /** Resolves when the process has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

/**
 * Runs `test/support/<script>` in a separate process that a test can kill; it ends with the test at
 * the latest.
 */
export function startChild(
  t: Teardown,
  script: string,
  args: readonly string[],
  options: SpawnOptions = {},
): Child {
  const here = (name: string) => join(import.meta.dirname, name);
  const child = spawn(process.execPath, [`--import=${here('quick-start.js')}`, here(script), ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Without the variables of the test runner, which would load its hooks.
    env: { PATH: process.env.PATH },
    ...options,
  });
  let errors = '';
  child.stderr?.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  const gone = whenOutputEnded(child);
  const kill = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await gone;
  };
  t.teardown(() => kill('SIGKILL'));
  const output = new Promise<Record<string, unknown>>((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', (line) => resolve(JSON.parse(line)));
    gone.then(() => reject(new Error(errors.trim())), reject);
  });
  // A test that kills a working child does not wait for its output.
  output.catch(() => undefined);
  return { process: child, output, kill };
}
