/**
 * A resource that Postgres has run out of (SQLSTATE class 53); reads may work while writes are
 * refused.
 */
export type ShortageKind = 'disk_full' | 'out_of_memory' | 'too_many_connections';

const KINDS: Readonly<Record<string, ShortageKind>> = {
  '53100': 'disk_full',
  '53200': 'out_of_memory',
  '53300': 'too_many_connections',
};

/**
 * Milliseconds without another error after which a shortage counts as over: nothing else signals
 * its end.
 */
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
