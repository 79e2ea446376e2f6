import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Returns how many files this process may open, after an attempt to raise it to `wanted`, as root.
 */
export function raiseOpenFiles(wanted: number): number {
  if (limit() < wanted) {
    try {
      execFileSync('prlimit', [`--pid=${process.pid}`, `--nofile=${wanted}:${wanted}`], { stdio: 'ignore' });
    } catch {
      // Not permitted, or not installed: fewer sockets.
    }
  }
  return limit();
}

function limit(): number {
  const found = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return found === 'unlimited' ? Number.POSITIVE_INFINITY : Number(found);
}
