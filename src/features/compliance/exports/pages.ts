import type { KeysetPage } from '../../../platform/db/connection/keyset.ts';

/** Yields a list, oldest row first, in pages of rows as `present` shows them. */
export async function* inPages<Row, Shown extends object>(
  read: (page: KeysetPage) => Promise<Row[]>,
  keyOf: (row: Row) => readonly (string | number)[],
  present: (row: Row) => Shown,
): AsyncIterable<Shown[]> {
  for (let after: KeysetPage['after'] = null; ; ) {
    const rows = await read({ direction: 'previous', after, fetch: PAGE, search: null });
    if (rows.length > 0) yield rows.map(present);
    if (rows.length < PAGE) return;
    after = keyOf(rows.at(-1)!);
  }
}

const PAGE = 200;
