import type { Querier } from '../connection/handle.ts';
import { statement } from '../connection/statement.ts';
import type { DueWatch } from '../queue/due-watch.ts';

export interface CutOffNoticesOptions {
  readonly database: Querier;
  readonly watch: Pick<DueWatch, 'add'>;
  /** The Redis that these notices are about, if the nodes have several. */
  readonly shard?: {
    /** Consists of letters that need no quotes in SQL. */
    readonly name: string;
    /** Differs from the indexes of the other shards. */
    readonly index: number;
    /** Whether no other shard is in use, so that nodes may not know about shards. */
    readonly isAll: () => boolean;
  };
}

/**
 * Notices between nodes through Postgres while a node cannot publish. That node writes a notice,
 * and every node that sees it reads news from Postgres once a second, until the notice has run out.
 * So frames that could not be published are not published later. It implements the `Notices` of the
 * engine (platform/engine/engine.ts).
 */
export class CutOffNotices {
  readonly #database: Querier;
  readonly #shard: CutOffNoticesOptions['shard'];
  /** Time at which this node's last notice was begun (`performance.now()`). */
  #saidMs = Number.NEGATIVE_INFINITY;
  #saying: Promise<void> | undefined;
  #lookedMs = performance.now();
  #clearMs = performance.now();
  #inDoubtUntilMs = Number.NEGATIVE_INFINITY;

  constructor({ database, watch, shard }: CutOffNoticesOptions) {
    this.#database = database;
    this.#shard = shard;
    watch.add({
      name: shard === undefined ? 'cut_off' : `cut_off_${shard.index}`,
      condition: isAnyCutOff(shard === undefined ? [SETTING] : [SETTING, settingOf(shard.name)]),
      onDue: () => {},
      onLook: (isAny, beganMs) => {
        const isOverlooked = beganMs - this.#lookedMs > OVERLOOKED_AFTER_MS;
        this.#lookedMs = beganMs;
        if (isAny || isOverlooked) this.#inDoubtUntilMs = beganMs + IN_DOUBT_FOR_MS;
        else if (!this.inDoubt) this.#clearMs = beganMs;
      },
    });
  }

  get clearMs(): number {
    return this.#clearMs;
  }

  get inDoubt(): boolean {
    return performance.now() < this.#inDoubtUntilMs;
  }

  say(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#saidMs < RENEWED_AFTER_MS) return Promise.resolve();
    this.#saying ??= this.#say(nowMs).finally(() => {
      this.#saying = undefined;
    });
    return this.#saying;
  }

  async #say(nowMs: number): Promise<void> {
    const setting = this.#shard?.isAll() === false ? settingOf(this.#shard.name) : SETTING;
    await this.#database.query(SAY, setting);
    this.#saidMs = nowMs;
  }
}

/** Milliseconds of frames that a notice covers. */
export const RENEWED_AFTER_MS = 1_000;
/** Longer than that by the time in which a node, which looks twice a second, must see a notice. */
export const RUNS_OUT_AFTER_MS = 5_000;
export const OVERLOOKED_AFTER_MS = RUNS_OUT_AFTER_MS - RENEWED_AFTER_MS;
/** Longer than the pause between two looks, and than the second between an engine's checks. */
export const IN_DOUBT_FOR_MS = 1_500;

const SETTING = 'cut_off_until';

function settingOf(shard: string): string {
  return `${SETTING} ${shard}`;
}

function isAnyCutOff(settings: readonly string[]): string {
  const names = settings.map((name) => `'${name}'`).join(', ');
  return `(SELECT max(value::timestamptz) FROM settings WHERE name IN (${names})) > statement_timestamp()`;
}

const SAY = statement<[setting: string]>('say-cut-off')`
    INSERT INTO settings AS s (name, value)
    VALUES ($1, (clock_timestamp() + interval '${RUNS_OUT_AFTER_MS} ms')::text)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
