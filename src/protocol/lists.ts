import { type TSchema, Type } from 'typebox';
import { Nullable } from './schema.ts';

/** Rows a page: default, and bounds that answer `parameter_invalid` outside (design.md section 7). */
export const PAGE_LIMIT = { default: 25, most: 100 } as const;

/** What every list answers (specification, List envelope). */
export interface List<T> {
  readonly object: 'list';
  readonly page_info: PageInfo;
  readonly data: readonly T[];
}

export interface PageInfo {
  readonly next_page_url: string | null;
  readonly previous_page_url: string | null;
  readonly has_next_page: boolean;
  readonly has_prev_page: boolean;
}

export function ListOf<S extends TSchema>(item: S) {
  return Type.Object({
    object: Type.Literal('list'),
    page_info: Type.Object({
      next_page_url: Nullable(Type.String()),
      previous_page_url: Nullable(Type.String()),
      has_next_page: Type.Boolean(),
      has_prev_page: Type.Boolean(),
    }),
    data: Type.Array(item),
  });
}
