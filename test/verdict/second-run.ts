import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importsOf } from '../support/imports.ts';
import type { FileResult } from './results.ts';

/** More flaky files than this fail the verdict: then the code has changed, not the luck. */
export const MOST_FLAKY = 3;

/**
 * Words of paths whose tests are about loss, order, repeats, rights, leaks, holds or money: what
 * they saw once is a finding.
 */
const SUBJECTS = new Set([
  'delivery',
  'gateway',
  'streams',
  'polls',
  'feeds',
  'cursors',
  'resume',
  'unread',
  'counts',
  'faults',
  'kills',
  'killed',
  'restart',
  'failover',
  'away',
  'idempotency',
  'scheduled',
  'queue',
  'access',
  'compliance',
  'audit',
  'cells',
  'matrix',
  'tokens',
  'revocation',
  'xss',
  'hostile',
  'retention',
  'exports',
  'erase',
  'holds',
  'hold',
  'rate',
  'limits',
  'rights',
  'order',
  'sockets',
  'nodes',
  'outbox',
  'gaps',
  'reconnect',
  'drain',
  'transports',
  'restore',
  'restored',
  'path',
]);

/** The same of what no chance decides: seeds, hashes, types, documents and the schema. */
const CERTAIN = new Set([
  'architecture',
  'docs',
  'verdict',
  'migrations',
  'openapi',
  'asyncapi',
  'golden',
  'typed',
  'types',
  'bench',
  'versions',
  'pages',
  'reference',
  'fuzz',
  'features',
  'chain',
  'hash',
]);

/** What a test imports if it draws by a seed, or is a short run of a campaign. */
const BY_SEED = /(^|\/)(random|hostile-frame|campaigns\/[\w-]+)\.ts$/;

/**
 * Returns the files to run once more, alone: those whose assertions failed in a run that came to
 * its end, unless one failure of them is a finding already.
 */
export function filesForSecondRun(results: readonly FileResult[], root: string): string[] {
  const files = results.flatMap(({ crash, failures }) => (crash === undefined ? [...failures.keys()] : []));
  return files.filter((file) => !isFinding(file, readFileSync(join(root, file), 'utf8')));
}

/** Whether one failure of this test file is a finding, whatever a second run says. */
export function isFinding(file: string, text: string): boolean {
  const words = file.replace(/^test\/|\.test\.ts$/g, '').split(/[/-]/);
  if (words.some((word) => SUBJECTS.has(word) || CERTAIN.has(word))) return true;
  return importsOf(text).some(({ specifier }) => BY_SEED.test(specifier));
}
