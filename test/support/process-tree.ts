import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** SIGSTOP for a process and its children. */
export async function hangTree(pid: number | undefined): Promise<void> {
  // The parent first, so that it starts no more children.
  await signalTree(pid, 'SIGSTOP');
}

export async function resumeTree(pid: number | undefined): Promise<void> {
  await signalTree(pid, 'SIGCONT');
}

async function signalTree(pid: number | undefined, signal: NodeJS.Signals): Promise<void> {
  if (pid === undefined) return;
  send(pid, signal);
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  for (const line of stdout.trim().split('\n')) {
    const [child, parent] = line.trim().split(/\s+/).map(Number);
    if (parent === pid && child !== undefined) send(child, signal);
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}
