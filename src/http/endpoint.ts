import { Body } from '../protocol/schema.ts';
import { compile, compileQuery, type Validator } from '../protocol/validation.ts';
import type { Route } from './route.ts';

/** A route, ready to be run. */
export interface Endpoint {
  readonly route: Route;
  readonly readQuery: Validator<unknown>;
  readonly readBody: Validator<unknown>;
}

export function prepareEndpoint(route: Route): Endpoint {
  return {
    route,
    readQuery: compileQuery(route.query ?? Body({})),
    readBody: compile(route.body ?? Body({})),
  };
}
