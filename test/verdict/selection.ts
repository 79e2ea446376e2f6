/** The verdict runs the long tests whose inputs changed, and an eighth of the rest in turn. */

import type { Change } from './changes.ts';
import type { Inputs } from './inputs.ts';

export interface Choice {
  readonly file: string;
  readonly runs: boolean;
  readonly why: string;
}

/** The rest is run in as many verdicts, if each number comes up. */
export const PARTS = 8;

/**
 * Files that no test of test/long/ notices: they are checked by the suite, or by types and lint in
 * every verdict. Test files and the bench count for those alone that import or name them. What is
 * not listed here, and not known otherwise, counts for all.
 */
const NO_INPUT: readonly RegExp[] = [
  /^(docs|bench|test|examples|\.ci)\//,
  /^packages\/[\w-]+\/test\//,
  /^[^/]+\.md$/,
  /\/(DECISIONS|README)\.md$/,
  /^(LICENSE|\.gitignore|\.dockerignore|Dockerfile|docker-compose\.yml|biome\.json|knip\.jsonc|redocly\.yaml)$/,
  /^tsconfig[\w.]*\.json$/,
];

/** The code that two versions of this project share: schema, stored forms, queue, and frames. */
const SHARED_WITH_EARLIER: readonly RegExp[] = [
  /^migrations\//,
  /^src\/platform\/(db|engine)\//,
  /^src\/core\/(committed|events|features|frames|installation|tables)\//,
  /^src\/core\/messages\/(timeline|editing|schedules|rows|rules|removal)\//,
  /\/(outbox-topics|marked-json)\.ts$/,
  /^src\/app\/left-out\.ts/,
  /^src\/edge\/gateway\/((stream|catch-up|changes)\/|session\/heartbeat-cursor\.ts)/,
  /^src\/features\/(search|webhooks|mail|compliance)\//,
  // Payloads of jobs.
  /^src\/(core\/attachments\/uploads\.ts|features\/(import\/imports|widgets\/visitors)\/)/,
  /^packages\/(client|embedded-postgres|mail-reader)\//,
  /^packages\/protocol\/(versions|schema|validation|forms|socket\/|resources\/)/,
];

/** `part`: from 0 to `PARTS` − 1. `files`: the long tests, each with its inputs. */
export function choose(
  files: ReadonlyMap<string, Inputs>,
  changes: readonly Change[],
  part: number,
): Choice[] {
  const choices: Choice[] = [];
  let others = 0;
  for (const [file, inputs] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const change = changes.find((one) => isInput(inputs, one));
    if (change !== undefined) {
      choices.push({ file, runs: true, why: `changed: ${nameOf(change)}` });
      continue;
    }
    if (inputs.runsEarlier) {
      choices.push({
        file,
        runs: false,
        why: 'it runs an earlier version, and nothing that both share changed',
      });
      continue;
    }
    const turn = others % PARTS;
    others += 1;
    const runs = turn === part;
    const why = runs ? `in its turn, part ${part} of ${PARTS}` : `no input changed; its turn is part ${turn}`;
    choices.push({ file, runs, why });
  }
  return choices;
}

export function isInput(inputs: Inputs, change: Change): boolean {
  if ('package' in change) {
    if (change.users === undefined) return true;
    if (inputs.startsNode && change.users.some(({ production }) => production)) return true;
    return change.users.some(({ name }) => inputs.packages.has(name));
  }
  const { path } = change;
  if (inputs.files.has(path)) return true;
  if (NO_INPUT.some((pattern) => pattern.test(path))) return false;
  if (!/^(src|packages|bin|migrations)\//.test(path)) return true;
  if (inputs.runsEarlier) return SHARED_WITH_EARLIER.some((pattern) => pattern.test(path));
  return inputs.startsNode && !inputs.unrelated.some((area) => path === area || path.startsWith(`${area}/`));
}

function nameOf(change: Change): string {
  return 'package' in change ? `the package ${change.package}` : change.path;
}
