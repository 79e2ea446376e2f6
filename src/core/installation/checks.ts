import type { InstallationCheck, InstallationNode } from '@parley/protocol/resources/installation.ts';
import { isAnswering } from '../../api/health.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { type Metrics, readMetric } from '../../platform/metrics.ts';
import type { CoreMetrics } from '../metrics.ts';
import { attention, type Check, counted, duration, ok } from './check.ts';
import { unsafeSettings } from './durability.ts';

export interface ChecksOptions {
  readonly database: Pick<Database, 'query'>;
  readonly metrics: Pick<Metrics, 'outboxLagSeconds' | 'outboxDead'> &
    Pick<CoreMetrics, 'auditUnsealedSeconds'>;
  /** Whether the operator accepts that Postgres may lose data in a crash. */
  readonly acceptsUnsafePostgres: boolean;
}

/** Returns the checks of the parts that every installation has. */
export function coreChecks({ database, metrics, acceptsUnsafePostgres }: ChecksOptions): readonly Check[] {
  return [
    {
      name: 'postgres',
      section: 'when-postgres-needs-attention',
      async look(nodes) {
        if (!(await isAnswering(database))) {
          return attention('Postgres does not answer. Start it, or mend the way to it.');
        }
        const ill = nodes.find(({ state, postgres }) => state !== 'silent' && postgres !== 'up');
        if (ill !== undefined) {
          return attention(`${SHORTAGES[ill.postgres] ?? SHORTAGES.away} The node ${ill.id} reports it.`);
        }
        const unsafe = acceptsUnsafePostgres ? [] : await unsafeSettings(database);
        return unsafe.includes('fsync') ? attention(NO_FSYNC) : ok('Postgres answers on every node.');
      },
    },
    {
      name: 'redis',
      section: 'when-redis-needs-attention',
      look(nodes) {
        const own = nodes.find(({ answers }) => answers);
        if (own?.redis === null) return ok('This installation is one node without Redis.');
        const away = nodes.find(({ state, redis }) => state !== 'silent' && redis === 'away');
        if (away !== undefined) {
          return attention(
            `The node ${away.id} has no link to Redis and refuses to send. Start Redis, or mend the way to it.`,
          );
        }
        const silent = nodes.find(({ state }) => state === 'silent');
        return silent === undefined
          ? ok('Every node has a proven link to Redis.')
          : attention(
              `The node ${silent.id} has been silent for ${duration(silent.silent_seconds)}. Look whether it runs.`,
            );
      },
    },
    {
      name: 'jobs',
      section: 'when-jobs-need-attention',
      async look() {
        const dead = await readMetric(metrics.outboxDead);
        if (dead > 0) {
          return attention(
            `Given up after a week: the effects of ${counted(dead, 'commit')}. Try them again.`,
          );
        }
        const lagS = await readMetric(metrics.outboxLagSeconds);
        if (lagS > LATE_OUTBOX_S) {
          return attention(`Effects of commits are ${duration(lagS)} late. Look at the log, and add nodes.`);
        }
        const unsealedS = await readMetric(metrics.auditUnsealedSeconds);
        return unsealedS > UNSEALED_S
          ? attention(`Audit events have not been sealed for ${duration(unsealedS)}. The log says why.`)
          : ok('What follows from commits is up to date.');
      },
    },
    {
      name: 'files',
      section: 'when-the-disk-is-full',
      look(nodes) {
        const full = nodes.find(({ state, files }) => state !== 'silent' && files === 'disk_full');
        if (full !== undefined) {
          return attention(`The disk for files of the node ${full.id} is full. Make room on it.`);
        }
        const isElsewhere = nodes.some(({ files }) => files === 'elsewhere');
        return ok(isElsewhere ? 'Files are in object storage.' : 'The disk for files takes more.');
      },
    },
  ];
}

/** Runs all checks at the same time. `docsUrl` has no trailing slash. */
export function makeChecks(
  checks: readonly Check[],
  nodes: readonly InstallationNode[],
  docsUrl: string,
): Promise<InstallationCheck[]> {
  return Promise.all(
    checks.map(async ({ name, section, look }) => ({
      object: 'installation_check',
      name,
      ...(await look(nodes)),
      docs_url: `${docsUrl}/operations#${section}`,
    })),
  );
}

/** The limits in the alerts of docs/operations.md. */
const LATE_OUTBOX_S = 30;
const UNSEALED_S = 10;

const NO_FSYNC =
  'Postgres does not write to disk what it has committed. Set fsync = on, or a crash may lose everything.';

const SHORTAGES: Readonly<Record<string, string>> = {
  away: 'The connections to Postgres are lost. Mend the way to it.',
  disk_full: 'The disk of Postgres is full, so changes are refused. Make room on it.',
  out_of_memory: 'Postgres is out of memory. Give it more, or less to do.',
  too_many_connections: 'Postgres has no connection left. Raise max_connections, or run fewer nodes.',
};
