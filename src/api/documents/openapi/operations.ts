import type { ErrorCondition } from '@parley/protocol/errors/errors.ts';
import { toolSlugOf } from '@parley/protocol/resources/available-tool.ts';
import { EXTERNAL_PREFIX, ID_OF, kindsInPath } from '@parley/protocol/schema/external-ids.ts';
import { statusLine } from '../../../platform/http/connection.ts';
import type { Route } from '../../pipeline/route.ts';
import { answerExampleOf, bodyExampleOf, pathExampleOf } from './examples.ts';
import { describeRefusals, refusalsOf, statusOf } from './refusals.ts';
import { TEXTS } from './samples.ts';
import { ALSO_EXTERNAL, type SchemaComponents, type SchemaObject } from './schemas.ts';
import { securityOf } from './security.ts';
import { tagOf } from './tags.ts';
import { readTexts, type Texts } from './texts.ts';

const PARAMETERS = readTexts('parameters.md');

/** Converts `/v1/things/:id` to OpenAPI's `/v1/things/{id}`. */
export function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

/**
 * Returns the operation of a route, and adds its named schemas to `schemas`. `texts`: by operation.
 */
export function operationOf(route: Route, schemas: SchemaComponents, texts: Texts): object {
  const [slug, security] = [toolSlugOf(route), securityOf(route)];
  return {
    operationId: route.name,
    'x-since': route.since,
    ...(route.permission === null ? {} : { 'x-permission': route.permission }),
    ...(slug === undefined ? {} : { 'x-tool-slug': slug }),
    tags: [tagOf(route.path)],
    summary: route.summary,
    description: describe(route, texts),
    parameters: [
      ...pathParameters(route),
      ...queryParameters(route, schemas),
      ...(isRead(route) ? [] : [reference('parameters', 'IdempotencyKey')]),
    ],
    ...(security === undefined ? {} : { security }),
    ...requestBodyOf(route, schemas),
    responses: { ...successesOf(route, schemas), ...refusalResponses(refusalsOf(route)) },
  };
}

function reference(section: string, name: string): { readonly $ref: string } {
  return { $ref: `#/components/${section}/${name}` };
}

/** Returns whether there is no effect that an Idempotency-Key could keep from being repeated. */
function isRead({ method, asks }: Route): boolean {
  return method === 'GET' || asks === true;
}

/** Returns the effect of the operation, its permission, and its first version. */
function describe(route: Route, texts: Texts): string {
  const { name, secret, since, mayExist, mayBeOpen, unsubscribed } = route;
  const text = texts.get(name);
  const sentences = [
    ...(route.open === true
      ? ['No credential is asked for: the body says who is calling.']
      : callersOf(route)),
    ...(mayBeOpen === undefined
      ? []
      : [`Without a credential, since \`${mayBeOpen}\`, the body says who is calling.`]),
    ...(secret === true ? ['The answer shows a secret, this once.'] : []),
    ...(unsubscribed === true ? ['It answers also while the subscription is not active.'] : []),
    ...(mayExist === true ? ['What is there already is answered with 200.'] : []),
    `Since version \`${since}\`.`,
  ];
  return [...(text === undefined ? [] : [text]), sentences.join(' ')].join('\n\n');
}

function callersOf({ permission, own, customers, agents, operators }: Route): string[] {
  if (operators !== undefined) {
    const whom = operators === 'keys' ? 'keys of operators' : 'operators and their keys';
    return [`For ${whom} alone: to all other callers nothing is at this path.`];
  }
  const ofOwn = own === undefined ? '' : `, or \`${own.permission}\` for ${own.of}`;
  return [
    permission === null ? 'Any valid credential will do.' : `Permission: \`${permission}\`${ofOwn}.`,
    customers === true ? 'Customers may call it for what is theirs.' : 'Closed to customers.',
    ...(agents === false ? ['Closed to agents.'] : []),
  ];
}

function pathParameters({ path, upserts }: Route): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    const named = name === 'id' ? kindsInPath(path) : undefined;
    const idText = `Id of the ${nounOf(path, name)}.`;
    const description = named === undefined ? idText : `${idText} ${ALSO_EXTERNAL}`;
    return {
      name,
      in: 'path',
      required: true,
      description: upserts === true ? UPSERTED : description,
      schema: { type: 'string', ...(named && { [ID_OF]: named }) },
      example: upserts === true ? `${EXTERNAL_PREFIX}${TEXTS.external_id}` : pathExampleOf(path, name),
    };
  });
}

const UPSERTED = 'The external id, as `ext:<external_id>`, percent-encoded.';

/** Returns `conversation` for the id after `/conversations/`; another parameter names itself. */
function nounOf(path: string, name: string): string {
  const collection = path
    .slice(0, path.indexOf(`/:${name}`))
    .split('/')
    .at(-1)!;
  return collection.replace(/ies$/, 'y').replace(/s$/, '').replaceAll('-', ' ');
}

function queryParameters({ name: operation, query }: Route, schemas: SchemaComponents): object[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = query as SchemaObject;
  return Object.entries(properties)
    .filter(([, schema]) => !('deprecated' in schema))
    .map(([name, schema]) => ({
      name,
      in: 'query',
      ...(required.includes(name) ? { required: true } : {}),
      description: schema.description ?? PARAMETERS.get(`${operation}.${name}`) ?? PARAMETERS.get(name),
      // `include[]=sender&include[]=author`
      ...(schema.type === 'array' ? { style: 'form', explode: true } : {}),
      // `metadata[plan]=pro`
      ...(schema.type === 'object' ? { style: 'deepObject', explode: true } : {}),
      schema: schemas.convert(schema),
    }));
}

/** The meaning of null, which schemas lack: most fields do not take it, and treat it as absent. */
const NULLS = {
  changing: 'Absent fields stay. Null clears a field that takes it, and is `missing_field` for others.',
  stating: 'Null on an optional field counts as absent, unless the field takes null.',
} as const;

function requestBodyOf({ method, body, response }: Route, schemas: SchemaComponents): object {
  if (body === undefined) return {};
  const schema = schemas.convert(body as SchemaObject);
  const { const: made } = (response as SchemaObject).properties?.object ?? {};
  const example = bodyExampleOf(schema, schemas.find, String(made));
  const description = method === 'PATCH' ? NULLS.changing : NULLS.stating;
  const content = { 'application/json': { schema, example } };
  return { requestBody: { description, required: needsBody(schema), content } };
}

/** Returns whether a request must have this body: without required fields, none counts as {}. */
export function needsBody({ required = [], allOf }: SchemaObject): boolean {
  return required.length > 0 || allOf !== undefined;
}

function successesOf(route: Route, schemas: SchemaComponents): Record<string, object> {
  const schema = schemas.convert(route.response as SchemaObject);
  const example = answerExampleOf(schema, schemas.find, route.name);
  const content = { [route.contentType ?? 'application/json']: { schema, example } };
  const answer = (description: string) => ({
    description,
    headers: headersOf(['RequestId', ...RATE_HEADERS, ...(isRead(route) ? [] : ['Replayed'])]),
    content,
  });
  return {
    ...(route.mayExist === true ? { 200: answer('It was there already.') } : {}),
    [route.status ?? 200]: answer(route.status === 201 ? 'It was made.' : 'Done.'),
  };
}

/** Returns a response for each status of these conditions, with their examples. */
export function refusalResponses(conditions: readonly ErrorCondition[]): Record<string, object> {
  const byStatus = Object.groupBy(conditions, statusOf) as Record<string, ErrorCondition[]>;
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, conditions]) => {
      const examples = conditions.map((condition) => [condition, reference('examples', condition)]);
      const response = {
        description: `${statusLine(Number(status))}: ${describeRefusals(conditions)}.`,
        headers: headersOf([
          'RequestId',
          ...(status === '429' ? RATE_HEADERS : []),
          ...(status === '429' || status === '503' ? ['RetryAfter'] : []),
        ]),
        content: {
          'application/json': {
            schema: reference('schemas', 'error'),
            examples: Object.fromEntries(examples),
          },
        },
      };
      return [status, response];
    }),
  );
}

const RATE_HEADERS = ['RateLimitLimit', 'RateLimitRemaining', 'RateLimitReset'];

function headersOf(names: readonly string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [HEADER_NAMES[name], reference('headers', name)]));
}

/** The wire names of header components. */
const HEADER_NAMES: Readonly<Record<string, string>> = {
  RequestId: 'Request-Id',
  RateLimitLimit: 'RateLimit-Limit',
  RateLimitRemaining: 'RateLimit-Remaining',
  RateLimitReset: 'RateLimit-Reset',
  RetryAfter: 'Retry-After',
  Replayed: 'Idempotent-Replayed',
};
