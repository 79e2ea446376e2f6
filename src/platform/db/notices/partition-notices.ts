import type { Querier } from '../connection/handle.ts';
import { statement } from '../connection/statement.ts';
import type { DueWatch } from '../queue/due-watch.ts';
import {
  IN_DOUBT_FOR_MS,
  OVERLOOKED_AFTER_MS,
  RENEWED_AFTER_MS,
  RUNS_OUT_AFTER_MS,
} from './cut-off-notices.ts';

export interface PartitionNoticesOptions {
  readonly database: Querier;
  readonly watch: Pick<DueWatch, 'add'>;
  /** Number of partitions. */
  readonly count: number;
}

/**
 * Returns notices for partitions of a Redis Cluster, like CutOffNotices for a Redis. Nodes learn of
 * moves at different moments, so they may disagree about masters, but not about partitions.
 */
export function partitionNotices({ database, watch, count }: PartitionNoticesOptions) {
  const startedMs = performance.now();
  const partitions = Array.from({ length: count }, () => ({
    saidMs: Number.NEGATIVE_INFINITY,
    clearMs: startedMs,
    inDoubtUntilMs: Number.NEGATIVE_INFINITY,
  }));
  let lookedMs = startedMs;
  /** No partition is in doubt after this moment. */
  let latestMs = Number.NEGATIVE_INFINITY;
  watch.add({
    name: 'cut_off_partitions',
    condition: CUT_OFF,
    onDue: () => {},
    onLook: (_isDue, beganMs, found) => {
      const isOverlooked = beganMs - lookedMs > OVERLOOKED_AFTER_MS;
      lookedMs = beganMs;
      const cutOff = new Set(typeof found === 'string' ? found.split(',').map(Number) : []);
      for (const [index, partition] of partitions.entries()) {
        if (isOverlooked || cutOff.has(index)) {
          partition.inDoubtUntilMs = beganMs + IN_DOUBT_FOR_MS;
          latestMs = partition.inDoubtUntilMs;
        } else if (performance.now() >= partition.inDoubtUntilMs) partition.clearMs = beganMs;
      }
    },
  });
  const say = async (which: readonly number[]) => {
    const nowMs = performance.now();
    const due = which.filter((index) => nowMs - partitions[index]!.saidMs >= RENEWED_AFTER_MS);
    if (due.length === 0) return;
    const settings = due.map((index) => `${SETTING} ${index}`);
    await database.query(SAY, settings);
    for (const index of due) partitions[index]!.saidMs = nowMs;
  };
  return (which: () => readonly number[]) => {
    let saying: Promise<void> | undefined;
    return {
      get clearMs() {
        return Math.min(...which().map((index) => partitions[index]!.clearMs));
      },
      get inDoubt() {
        const nowMs = performance.now();
        return nowMs < latestMs && which().some((index) => nowMs < partitions[index]!.inDoubtUntilMs);
      },
      say(): Promise<void> {
        saying ??= say(which()).finally(() => {
          saying = undefined;
        });
        return saying;
      },
    };
  };
}

const SETTING = 'cut_off_partition';

// Other settings have values of other kinds, which must not be read as times.
const CUT_OFF = `SELECT string_agg(split_part(name, ' ', 2), ',') FROM settings
   WHERE CASE WHEN name LIKE '${SETTING} %' THEN value::timestamptz > statement_timestamp() ELSE false END`;

/** Locks rows in the order of the names, the same on all nodes. */
const SAY = statement<[settings: readonly string[]]>('say-cut-off-partitions')`
    INSERT INTO settings AS s (name, value)
    SELECT name, (clock_timestamp() + interval '${RUNS_OUT_AFTER_MS} ms')::text
    FROM unnest($1::text[]) AS said (name) ORDER BY name
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
