import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** Returns the commit, with a `+` if the checkout has further changes; null outside git. */
export function commit(): string | null {
  try {
    return `${git('rev-parse', 'HEAD')}${git('status', '--porcelain') === '' ? '' : '+'}`;
  } catch {
    return null;
  }
}

/** Returns a mark of the state of the measured code; results of runs do not change it. */
export function fingerprint(): string | null {
  try {
    const changes = git('diff', 'HEAD', '--', '.', ':!bench/results', ':!bench/README.md');
    return `${git('rev-parse', 'HEAD')}-${createHash('sha256').update(changes).digest('hex').slice(0, 12)}`;
  } catch {
    return null;
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 1e9,
  }).trim();
}
