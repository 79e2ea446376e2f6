import type { InstallationCheck, InstallationNode } from '@parley/protocol/resources/installation.ts';

/** A check of one part of the installation, from its metrics (checks.ts). */
export interface Check {
  readonly name: string;
  /** The heading of its section in docs/operations.md, as an anchor. */
  readonly section: string;
  look(nodes: readonly InstallationNode[]): Finding | Promise<Finding>;
}

export type Finding = Pick<InstallationCheck, 'state' | 'message'>;

export function ok(message: string): Finding {
  return { state: 'ok', message };
}

/** Returns a finding; `message` has the problem and the remedy. */
export function attention(message: string): Finding {
  return { state: 'attention', message };
}

/** Returns `1 mail` or `2 mails`. */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Returns `12 s`, `5 min` or `3 h`, for people. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}
