/** What Postgres has run out of (SQLSTATE class 53); reads may go on while writes are refused. */
export type ShortageKind = 'disk_full' | 'out_of_memory' | 'too_many_connections';

const KINDS: Readonly<Record<string, ShortageKind>> = {
  '53100': 'disk_full',
  '53200': 'out_of_memory',
  '53300': 'too_many_connections',
};

/** Without another error for so long it counts as over: nothing says so by itself. */
const REMEMBERED_MS = 30_000;

/** Remembers the last shortage, for readiness checks. */
export class Shortage {
  #kind: ShortageKind | undefined;
  #recordedAtMs = Number.NEGATIVE_INFINITY;

  record(code: string): void {
    const kind = KINDS[code];
    if (kind === undefined) return;
    this.#kind = kind;
    this.#recordedAtMs = performance.now();
  }

  get current(): ShortageKind | undefined {
    return performance.now() - this.#recordedAtMs < REMEMBERED_MS ? this.#kind : undefined;
  }
}
