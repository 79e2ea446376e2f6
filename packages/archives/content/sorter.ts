import { Spool, type Stretch } from '../container/spool.ts';
import { linesOf } from './documents.ts';
import type { Micros } from './times.ts';

export interface Sortable {
  /** The values of a group stay together; groups are in order. */
  readonly group: number;
  readonly at: Micros;
}

interface SorterOptions {
  readonly scratch: string;
  /** Bytes in memory before values go to disk, by the sizes that `add` gets. */
  readonly memoryBytes?: number;
}

/**
 * Sorts any number of values by group and time: values beyond the memory go to the scratch
 * directory in sorted runs, which are merged. Equal values keep their order. Values are JSON.
 */
export class Sorter<Value extends Sortable> {
  readonly #scratch: string;
  readonly #memoryBytes: number;
  readonly #runs: Stretch[] = [];
  #spool: Spool | undefined;
  #values: Value[] = [];
  #bytes = 0;

  constructor({ scratch, memoryBytes = MEMORY_BYTES }: SorterOptions) {
    this.#scratch = scratch;
    this.#memoryBytes = memoryBytes;
  }

  /** `bytes` is about the size of the value as JSON. */
  async add(value: Value, bytes: number): Promise<void> {
    this.#values.push(value);
    this.#bytes += bytes + VALUE_BYTES;
    if (this.#bytes > this.#memoryBytes) await this.#spill();
  }

  /** Returns all values, many at a time, and forgets them. */
  async *sorted(): AsyncGenerator<readonly Value[]> {
    try {
      if (this.#spool === undefined) {
        const values = this.#values.sort(compare);
        this.#values = [];
        this.#bytes = 0;
        yield values;
        return;
      }
      await this.#spill();
      yield* merged(this.#runs.map((run) => this.#read(run)));
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    this.#values = [];
    this.#runs.length = 0;
    await this.#spool?.close();
    this.#spool = undefined;
  }

  async #spill(): Promise<void> {
    this.#spool ??= await Spool.create(this.#scratch);
    const values = this.#values.sort(compare);
    const at = this.#spool.length;
    for (let from = 0; from < values.length; from += PAGE) {
      const page = values.slice(from, from + PAGE);
      await this.#spool.append(Buffer.from(page.map((value) => `${JSON.stringify(value)}\n`).join('')));
    }
    if (values.length > 0) this.#runs.push({ at, size: this.#spool.length - at });
    this.#values = [];
    this.#bytes = 0;
  }

  async *#read(run: Stretch): AsyncGenerator<Value[]> {
    for await (const lines of linesOf(this.#spool!.content(run), Number.POSITIVE_INFINITY)) {
      yield lines.map(({ bytes }) => JSON.parse(bytes!.toString()) as Value);
    }
  }
}

const MEMORY_BYTES = 32 * 2 ** 20;
/** Bytes of a value beside its texts. */
const VALUE_BYTES = 200;
const PAGE = 500;

function compare(a: Sortable, b: Sortable): number {
  return a.group - b.group || a.at - b.at;
}

/** Yields the merged runs, of equal values the earlier run's first. */
async function* merged<Value extends Sortable>(runs: AsyncGenerator<Value[]>[]): AsyncGenerator<Value[]> {
  const heads: { values: Value[]; next: number; run: AsyncGenerator<Value[]>; order: number }[] = [];
  for (const [order, run] of runs.entries()) {
    const { value } = await run.next();
    if (value !== undefined) heads.push({ values: value, next: 0, run, order });
  }
  const earlier = (a: number, b: number) => {
    const [x, y] = [heads[a]!, heads[b]!];
    return (compare(x.values[x.next]!, y.values[y.next]!) || x.order - y.order) < 0;
  };
  const sink = (from: number) => {
    for (let at = from; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heads.length && earlier(child, least)) least = child;
      }
      if (least === at) return;
      [heads[at], heads[least]] = [heads[least]!, heads[at]!];
      at = least;
    }
  };
  for (let at = heads.length >> 1; at >= 0; at -= 1) if (at < heads.length) sink(at);
  let page: Value[] = [];
  while (heads.length > 0) {
    const head = heads[0]!;
    page.push(head.values[head.next]!);
    head.next += 1;
    if (head.next === head.values.length) {
      const { value } = await head.run.next();
      head.next = 0;
      if (value !== undefined) head.values = value;
      else {
        const last = heads.pop()!;
        if (heads.length > 0) heads[0] = last;
      }
    }
    sink(0);
    if (page.length === PAGE) {
      yield page;
      page = [];
    }
  }
  yield page;
}
