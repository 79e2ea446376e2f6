import { prepareForms } from '@parley/protocol/forms/forms.ts';
import { hasOpenJson } from '@parley/protocol/schema/open-json.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import { schemaAt } from '@parley/protocol/schema/since.ts';
import {
  compile,
  compileQuery,
  parseObject,
  type Validator,
} from '@parley/protocol/validation/validation.ts';
import type { Version } from '@parley/protocol/versions.ts';
import type { TSchema } from 'typebox';
import { type IdPlaces, idPlacesOf } from './external-ids.ts';
import { parseQuery } from './query.ts';
import type { Route } from './route.ts';

/** A route with its validators. */
export interface Endpoint {
  readonly route: Route;
  /** Reads the part of the URL after the `?`, by the rules of the caller's version. */
  readonly readQuery: (text: string, version: Version) => unknown;
  /** Numbers keep their digits if the body has JSON of the caller's own. */
  readonly parseBody: (text: string) => object;
  readonly readBody: (value: unknown, version: Version) => unknown;
  /** Undefined if its requests never name anything by an external id. */
  readonly ids: IdPlaces | undefined;
  /** Compiles the validators of a version in advance. */
  readonly prepare: (version: Version) => void;
}

/**
 * Compiles validators at the endpoint's first use, unless it is frequent. Compiling all of them
 * takes 0.4 s, which would delay every start and every test that starts a server.
 */
export function prepareEndpoint(route: Route): Endpoint {
  const readQuery = perVersion(route.query ?? NOTHING, QUERIES, (schema) =>
    queryReader(compileQuery(schema)),
  );
  const nullClears = route.method === 'PATCH';
  const readBody = perVersion(route.body ?? NOTHING, nullClears ? PATCHES : BODIES, (schema) =>
    compile(schema, { nullClears }),
  );
  const keepsDigits = hasOpenJson(route.body ?? NOTHING);
  return {
    route,
    ids: idPlacesOf(route),
    readQuery: (text, version) => readQuery(version)(text),
    parseBody: (text) => parseObject(text, keepsDigits),
    readBody: (value, version) => readBody(version)(value),
    prepare: (version) => {
      readQuery(version);
      // The first call compiles the generated code.
      isAccepted(readBody(version), {});
      prepareForms(route.response);
    },
  };
}

const NOTHING = Body({});

/** Validators by the text of their schema, shared by versions, endpoints and nodes of a process. */
const QUERIES = new Map<string, (text: string) => unknown>();
const BODIES = new Map<string, Validator<unknown>>();
const PATCHES = new Map<string, Validator<unknown>>();

function perVersion<T>(
  schema: TSchema,
  bySchema: Map<string, T>,
  make: (schema: TSchema) => T,
): (version: Version) => T {
  const byVersion = new Map<Version, T>();
  const madeFor = (version: Version): T => {
    const own = schemaAt(version, schema);
    const key = JSON.stringify(own);
    const made = bySchema.get(key) ?? make(own);
    bySchema.set(key, made);
    byVersion.set(version, made);
    return made;
  };
  return (version) => byVersion.get(version) ?? madeFor(version);
}

/** Decides the common case once: most requests have no query, and most routes require none. */
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
