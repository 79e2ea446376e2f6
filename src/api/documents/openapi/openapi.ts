import { ErrorEnvelope } from '@parley/protocol/errors/error-envelope.ts';
import type { ErrorCondition } from '@parley/protocol/errors/errors.ts';
import { answerAt, schemaAt } from '@parley/protocol/schema/since.ts';
import { CURRENT_VERSION, covers, VERSIONS, type Version } from '@parley/protocol/versions.ts';
import type { Route } from '../../pipeline/route.ts';
import { filePaths, MAIL_SINCE, mailPaths } from './files.ts';
import { operationOf, templateOf } from './operations.ts';
import { refusalExample, refusalsOf } from './refusals.ts';
import { SchemaComponents, type SchemaObject } from './schemas.ts';
import { OF_ACCOUNT, securitySchemes } from './security.ts';
import { tagsOf } from './tags.ts';
import type { Texts } from './texts.ts';

export interface OpenApiOptions {
  readonly routes: readonly Route[];
  /** The description of each operation, by its name. */
  readonly texts: Texts;
  /** The base of links in errors. */
  readonly docsUrl: string;
  /** The only version of the document; without it, the document has all versions. */
  readonly version?: Version;
}

/**
 * Returns the OpenAPI 3.1 document of a route table, derived from the routes, their schemas and the
 * tables of protocol/ alone.
 */
export function openApiDocument({ routes: all, texts, docsUrl, version }: OpenApiOptions): object {
  const routes = version === undefined ? all : routesAt(version, all);
  const takesMail = version === undefined || covers(version, MAIL_SINCE);
  const schemas = new SchemaComponents();
  schemas.convert(ErrorEnvelope as SchemaObject);
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = templateOf(route.path);
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationOf(route, schemas, texts);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Parley',
      version: version ?? CURRENT_VERSION,
      summary: 'Conversations, messages, automated agents and notifications.',
      description: `${DESCRIPTION}\n${version === undefined ? OF_ALL : `This document is about version \`${version}\` alone.`}`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The server that this document comes from.' }],
    security: [OF_ACCOUNT],
    tags: tagsOf(routes.map(({ path }) => path)),
    paths: { ...paths, ...filePaths(texts), ...(takesMail && mailPaths(schemas, texts)) },
    components: {
      securitySchemes: securitySchemes(version === undefined ? VERSIONS : [version], routes),
      parameters: PARAMETERS,
      headers: HEADERS,
      schemas: schemas.toJSON(),
      examples: examplesOf(routes, docsUrl),
    },
  };
}

function routesAt(version: Version, routes: readonly Route[]): Route[] {
  return routes
    .filter(({ since }) => covers(version, since))
    .map((route) => ({
      ...route,
      ...(route.query && { query: schemaAt(version, route.query) }),
      ...(route.body && { body: schemaAt(version, route.body) }),
      response: answerAt(version, route.response),
    }));
}

const DESCRIPTION = `Every request carries \`Authorization\`, \`Service-Version\` and \`Service-Account\`, which this document has as security schemes.
Sub-objects are null unless \`include[]\` asks for them. Lists are read page by page: follow \`next_page_url\`.
A refusal is one \`error\` object: branch on its \`code\`, and try again only where \`is_transient\` is true.
A field with \`x-since\` is absent for callers of an older version, and refused from them; so is a value that \`x-members-since\` names.
An id with \`x-id-of\` may be an external one, \`ext:<external_id>\`, since version \`1.3.harbor\`; the keyword says what it may name.
An operation with \`x-permission\` is for callers that have it; Get Me has those of the caller.
New optional fields may come with any minor version, so let unknown ones pass.`;

const OF_ALL =
  'This document is about all versions. `/v1/openapi.json?version=` has one for each, in which `required` is complete.';

const PARAMETERS = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes it safe to send the request again: for 24 hours the first answer is given again. Printable ASCII only. ' +
      'Bytes of 0x80 and above at the end of the value are dropped before it is read, so keys that differ in them ' +
      'alone are one key.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
    example: '8f14e45f-ceea-467f-a8d4-3c1f2b9a7e10',
  },
};

const HEADERS = {
  RequestId: { description: 'Names this request in logs.', schema: { type: 'string' } },
  RateLimitLimit: {
    description: 'Requests that a window allows; absent where nothing is limited.',
    schema: { type: 'integer' },
  },
  RateLimitRemaining: { description: 'Requests left in this window.', schema: { type: 'integer' } },
  RateLimitReset: { description: 'Seconds until the next window.', schema: { type: 'integer' } },
  RetryAfter: { description: 'Seconds to wait before the next try.', schema: { type: 'integer' } },
  Replayed: {
    description:
      '`true` where nothing was done: this is the first answer to the same Idempotency-Key, given again, or shows what is there under the same own key, such as `client_message_id`.',
    schema: { type: 'string', const: 'true' },
  },
};

/** Returns one example for each condition of some route. */
function examplesOf(routes: readonly Route[], docsUrl: string): Record<string, object> {
  const used = new Set<ErrorCondition>(routes.flatMap(refusalsOf));
  return Object.fromEntries(
    [...used].sort().map((condition) => [condition, { value: refusalExample(condition, docsUrl) }]),
  );
}
