import { Body } from '../protocol/schema.ts';
import { compile, compileQuery, type Validator } from '../protocol/validation.ts';
import { parseQuery } from './query.ts';
import type { Route } from './route.ts';

/** A route, ready to be run. */
export interface Endpoint {
  readonly route: Route;
  /** Of what stands behind the `?`. */
  readonly readQuery: (text: string) => unknown;
  readonly readBody: Validator<unknown>;
}

/**
 * Validators are compiled when the endpoint is first used: for all of them that takes 0.4 s, which a start, and
 * each test that starts a server, need not wait for.
 */
export function prepareEndpoint(route: Route): Endpoint {
  const readQuery = once(() => queryReader(compileQuery(route.query ?? Body({}))));
  const readBody = once(() => compile(route.body ?? Body({})));
  return {
    route,
    readQuery: (text) => readQuery()(text),
    readBody: (value) => readBody()(value),
  };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Most requests have no query, and most routes demand none: that is checked once. */
function queryReader(read: Validator<unknown>): (text: string) => unknown {
  const mayBeEmpty = isAccepted(read, {});
  return (text) => (text === '' && mayBeEmpty ? NO_QUERY : read(parseQuery(text)));
}

const NO_QUERY = Object.freeze({});

function isAccepted(read: Validator<unknown>, value: unknown): boolean {
  try {
    read(value);
    return true;
  } catch {
    return false;
  }
}
