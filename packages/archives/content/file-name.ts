import { oneLine } from '@parley/protocol/schema/one-line.ts';

/** Returns the name on one line, without what separates folders, 200 characters at most. */
export function fileName(name: string | null, otherwise: string): string {
  const clean = oneLine(name ?? '').replace(/[/\\]/g, '_');
  return clean.length <= 200
    ? clean || otherwise
    : `${clean.slice(0, 180)}${clean.slice(-20)}`.toWellFormed();
}
