import { type Static, type TSchema, Type } from 'typebox';
import { describe, Nullable } from './schema/schema.ts';

/** Rows per page; a `limit` outside is `parameter_invalid` (docs/contract.md#lists). */
export const PAGE_LIMIT = { default: 25, most: 100 } as const;

/** Most JSON of a page: clients that do not read hold it in memory. A row has 240 kB at most. */
export const MAX_PAGE_BYTES = 1024 * 1024;

/** The body of every list: one page. */
export interface List<T> {
  /** `list` for every list. */
  readonly object: 'list';
  /** Where the pages before and after this one are. */
  readonly page_info: PageInfo;
  /** The resources of this page, in the order of the list. */
  readonly data: readonly T[];
}

export const PageInfo = Type.Object({
  next_page_url: Nullable(Type.String()),
  previous_page_url: Nullable(Type.String()),
  has_next_page: Type.Boolean(),
  has_prev_page: Type.Boolean(),
});
export type PageInfo = Static<typeof PageInfo>;

describe(PageInfo, {
  next_page_url: 'Relative URL of the next page. Null on the last page.',
  previous_page_url:
    'Relative URL of the previous page. Null on the first page, and in lists whose pages lead forward alone, such as Search.',
  has_next_page: 'Whether there are results after this page.',
  has_prev_page: 'Whether there are results before this page.',
});

/** `facts`: fields of the list beside its page. */
export function ListOf<S extends TSchema>(item: S, facts: Readonly<Record<string, TSchema>> = {}) {
  const list = Type.Object({
    object: Type.Literal('list'),
    ...facts,
    page_info: PageInfo,
    data: Type.Array(item),
  });
  describe(list, { page_info: 'Where this page stands in the list.', data: 'The resources of this page.' });
  return list;
}

/** Returns the body of a list that is one page. */
export function listOf<T>(data: readonly T[]): List<T> {
  const page_info = {
    next_page_url: null,
    previous_page_url: null,
    has_next_page: false,
    has_prev_page: false,
  };
  return { object: 'list', page_info, data };
}
