import type { List } from '@parley/protocol/lists.ts';
import { compileQuery } from '@parley/protocol/validation/validation.ts';
import { Type } from 'typebox';
import {
  defineList,
  type Key,
  type PageRequest,
  readPage,
  SearchQuery,
  toList,
} from '../../src/api/pipeline/pagination.ts';
import { parseQuery } from '../../src/api/pipeline/query.ts';
import type { Random } from '../support/random.ts';

export interface Row {
  readonly at: string;
  readonly id: string;
}

export const FEED = defineList('feed', ['time', 'text']);
export const PATH = '/v1/feed';

/** A list as a store keeps it: newest first. */
export class Feed {
  #rows: Row[] = [];
  #next = 0;

  /** Several rows share a time. */
  add(random: Random): void {
    const at = new Date(Date.UTC(2026, 10, 21) + random.below(8) * 1_000).toISOString();
    this.#rows.push({ at: at.replace('Z', '123Z'), id: `row_${(this.#next++).toString().padStart(4, '0')}` });
    this.#rows.sort((a, b) => -compareKeys(keyOf(a), keyOf(b)));
  }

  remove(ids: readonly string[]): void {
    this.#rows = this.#rows.filter(({ id }) => !ids.includes(id));
  }

  ids(): string[] {
    return this.#rows.map(({ id }) => id);
  }

  page(url: string): List<Row> {
    const query = READ(parseQuery(url.split('?')[1] ?? ''));
    const page = readPage(FEED, query, { status: query.status });
    return toList(this.#fetch(page), page, url, keyOf, (row) => row);
  }

  #fetch({ direction, after, fetch }: PageRequest): Row[] {
    const rows = direction === 'next' ? this.#rows : this.#rows.toReversed();
    const sign = direction === 'next' ? -1 : 1;
    return rows.filter((row) => after === null || sign * compareKeys(keyOf(row), after) > 0).slice(0, fetch);
  }
}

const READ = compileQuery(SearchQuery({ status: Type.Optional(Type.String()) }));

function compareKeys(a: Key, b: Key): number {
  for (const [i, part] of a.entries()) {
    if (part !== b[i]) return part < b[i]! ? -1 : 1;
  }
  return 0;
}

function keyOf({ at, id }: Row): Key {
  return [at, id];
}
