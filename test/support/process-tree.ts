import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Sends SIGSTOP to a process and its children. */
export async function hangTree(pid: number | undefined): Promise<void> {
  // Stops the parent first, so that it starts no more children.
  await signalTree(pid, 'SIGSTOP');
}

export async function resumeTree(pid: number | undefined): Promise<void> {
  await signalTree(pid, 'SIGCONT');
}

async function signalTree(pid: number | undefined, signal: NodeJS.Signals): Promise<void> {
  if (pid === undefined) return;
  send(pid, signal);
  for (const child of await childrenOf(pid)) send(child, signal);
}

/** Returns the processes that a process has started, without the process that lists them. */
export async function childrenOf(pid: number): Promise<number[]> {
  const listing = promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const { stdout } = await listing;
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number) as [number, number])
    .flatMap(([child, parent]) => (parent === pid && child !== listing.child.pid ? [child] : []));
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}
