import type { List } from '@parley/protocol/lists.ts';
import type { CallOptions } from '../link/call-scope.ts';

/** A request of the application: JSON in and out. */
export interface FetchOptions extends CallOptions {
  /** GET by default. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: object;
  /** 5 by default. */
  readonly mostTries?: number;
  /**
   * Of all but GET: names the request, of which repetitions change nothing. A new one by default.
   */
  readonly idempotencyKey?: string;
}

/** Sends a request to the API and resolves with its answer. */
export type Fetch = <T>(path: string, options?: FetchOptions) => Promise<T>;

/** Values of a query; those of a list are sent under `name[]`, those of a map under `name[key]`. */
export type QueryValues = Readonly<Record<string, QueryValue | undefined>>;
type QueryValue = string | number | boolean | readonly string[] | Readonly<Record<string, string>>;

/** Yields the pages of a list, each requested when asked for. */
export async function* pagesOf<T>(
  fetch: Fetch,
  path: string,
  query: QueryValues = {},
): AsyncGenerator<List<T>, void, undefined> {
  let next: string | null = `${path}${queryOf(query)}`;
  while (next !== null) {
    const page: List<T> = await fetch<List<T>>(next);
    yield page;
    next = page.page_info.next_page_url;
  }
}

export function queryOf(values: QueryValues): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'object') {
      const isList = Array.isArray(value);
      for (const [key, one] of Object.entries(value)) query.append(`${name}[${isList ? '' : key}]`, one);
    } else if (value !== undefined) query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}
