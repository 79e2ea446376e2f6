/**
 * The API document and its pages, which are derived from the route table, so that the contract is
 * written once.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '@parley/protocol/errors/error-envelope.ts';
import { ERROR_GUIDE } from '@parley/protocol/errors/error-guide.ts';
import { ERRORS } from '@parley/protocol/errors/errors.ts';
import { PERMISSIONS } from '@parley/protocol/permissions.ts';
import { Body, Nullable, OneOf, Timestamp } from '@parley/protocol/schema/schema.ts';
import { STATE_MACHINES } from '@parley/protocol/states/state-machines.ts';
import { compile } from '@parley/protocol/validation/validation.ts';
import { CURRENT_VERSION, NEWEST_VERSION, VERSIONS } from '@parley/protocol/versions.ts';
import t from 'tap';
import { Type } from 'typebox';
import { bodyExampleOf, exampleOf } from '../../src/api/documents/openapi/examples.ts';
import { SchemaComponents, type SchemaObject } from '../../src/api/documents/openapi/schemas.ts';
import { createOperatorKey } from '../../src/core/accounts/installation/operator-keys.ts';
import { freshDirectory, ROOT, runProgram } from '../start/parley.ts';
import { borrowTestApp } from '../support/app.ts';
import { Contract, type WireAnswer } from '../support/contract.ts';
import { muteFields, THREE_WORDS } from '../support/mute-fields.ts';

const app = await borrowTestApp(t);
const { key: operator } = await app.database.transaction((tx) => createOperatorKey(tx, { name: 'Billing' }));
const { text: source, headers: documentHeaders } = await get('/v1/openapi.json');
const document: OpenApi = JSON.parse(source);
const {
  '/v1/avatars/{id}': _avatars,
  '/v1/files/{key}': files,
  '/v1/mail/inbound': inbound,
  ...apiPaths
} = document.paths;
const operations = Object.entries(apiPaths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

/** They change nothing, although their method is POST. */
const ASKING: ReadonlySet<string> = new Set(['open_realtime_stream', 'poll_realtime']);

t.test('the five endpoints of 1.0 are in it as the contract has them', async (t) => {
  const specified: [name: string, method: string, path: string, permission: string, status: string][] = [
    [
      'send_message',
      'POST',
      '/v1/messaging/conversations/{id}/messages',
      'messaging:create',
      '201 chat_message',
    ],
    [
      'set_legal_hold',
      'POST',
      '/v1/messaging/conversations/{id}/actions/set-legal-hold',
      'messaging:update',
      '200 conversation',
    ],
    [
      'reject_draft',
      'POST',
      '/v1/messaging/messages/{id}/actions/reject',
      'messaging:update',
      '200 chat_message',
    ],
    ['create_agent', 'POST', '/v1/ai/agents', 'agents:create', '201 agent_definition'],
    ['list_notifications', 'GET', '/v1/messaging/notifications', 'messaging:read', '200 notification_list'],
  ];
  for (const [name, method, path, permission, success] of specified) {
    const operation = document.paths[path]?.[method.toLowerCase()];
    t.ok(operation, `${method} ${path} (${name})`);
    if (operation === undefined) continue;
    t.match(operation.description, `Permission: \`${permission}\`.`);
    t.match(operation.description, 'Since version `1.0.harbor`.');
    const [status, schema] = success.split(' ') as [string, string];
    const { $ref } = operation.responses[status]!.content['application/json'].schema;
    t.equal($ref, `#/components/schemas/${schema}`);
  }
});

/** Without a subscription, too. */
const ALWAYS_ANSWERING = new Set(['get_account', 'get_installation']);

t.test('every operation documents its call and its refusals', async (t) => {
  const names = operations.map(({ operation }) => operation.operationId);
  t.equal(new Set(names).size, names.length, 'names are unique');
  for (const { path, method, operation } of operations) {
    const { operationId, parameters, responses, security = document.security } = operation;
    const named = parameters.map(({ name, $ref }) => name ?? $ref?.split('/').at(-1));
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const schemes = security.map((required) => Object.keys(required));
    const isOpen = schemes.every((names) => !names.includes('bearer') && !names.includes('operatorKey'));
    const isOfKeys = schemes.every((names) => names.includes('operatorKey'));
    for (const names of schemes) {
      t.ok(names.includes('ServiceVersion'), `${operationId}: each request has a version`);
      t.equal(names.includes('ServiceAccount'), names.includes('bearer'), `${operationId}: the account`);
    }
    t.equal(isOfKeys, path.startsWith('/v1/installation/'), `${operationId}: keys of operators`);
    const changes = method !== 'GET' && !ASKING.has(operationId);
    const headers = changes ? ['IdempotencyKey'] : [];
    t.strictSame(named.slice(0, inPath.length), inPath, `${operationId}: the path`);
    t.strictSame(
      named.filter((name) => /^[A-Z]/.test(name ?? '')),
      headers,
      `${operationId}: the headers`,
    );
    t.notOk(named.includes('page'), 'page is there only to be refused');
    const expected = [
      '400',
      '401',
      ...(isOpen || isOfKeys || ALWAYS_ANSWERING.has(operationId) ? [] : ['402']),
      '404',
      '429',
      '500',
      '503',
    ];
    t.strictSame(
      expected.filter((status) => responses[status] === undefined),
      [],
      `${operationId} refuses`,
    );
    const documented = Object.values(responses).flatMap(({ content }) =>
      Object.keys(content['application/json']?.examples ?? {}),
    );
    t.equal(documented.includes('idempotency_in_progress'), changes, operationId);
  }
  const { securitySchemes } = document.components;
  t.strictSame(
    Object.values(securitySchemes).flatMap(({ type, in: place, name }) =>
      type === 'http' ? [] : [place, name],
    ),
    ['header', 'Service-Version', 'header', 'Service-Account'],
  );
  t.strictSame(securitySchemes.ServiceVersion?.['x-values'], [...VERSIONS]);
  t.match(document, { openapi: '3.1.0', info: { title: 'Parley', version: CURRENT_VERSION } });
});

t.test('nothing in it is without a description', async (t) => {
  const described = (text: string | undefined, what: string) => t.match(text, THREE_WORDS, what);
  const { schemas, parameters, securitySchemes } = document.components;
  const mute = Object.entries(schemas).flatMap(([name, schema]) => muteFields(schema, name));
  for (const { operation } of operations) {
    const { operationId, description, parameters: own, requestBody } = operation;
    t.match(description, /^.+\.\n\n/s, `${operationId}: what it does comes before who may call it`);
    for (const parameter of own) {
      if (parameter.$ref === undefined) described(parameter.description, `${operationId} ${parameter.name}`);
    }
    if (requestBody !== undefined) {
      mute.push(...muteFields(requestBody.content['application/json'].schema, operationId));
    }
  }
  t.strictSame(mute, [], 'fields');
  for (const [name, { description }] of Object.entries({ ...parameters, ...securitySchemes })) {
    described(description as string, name);
  }
});

t.test('a wrong value is answered with those that are allowed', async (t) => {
  const wrong = 'no-such-value';
  const headers = { 'Service-Version': NEWEST_VERSION };
  let asked = 0;
  const ask = async (
    method: string,
    path: string,
    param: string,
    allowed: readonly unknown[],
    body?: object,
  ) => {
    asked += 1;
    const token = path.startsWith('/v1/installation/') ? operator : app.demo.api_key;
    const answer = await app.call(method, path, { token, headers, ...(body === undefined ? {} : { body }) });
    const { error } = answer.body;
    const isNamed = allowed.every((value) => value === null || error?.message.includes(String(value)));
    t.ok(error?.param?.startsWith(param) && isNamed, `${method} ${path} ${param}: ${answer.text}`);
  };
  for (const { path, method, operation } of operations) {
    const { security = document.security } = operation;
    if (security.every((required) => !('bearer' in required) && !('operatorKey' in required))) continue;
    const { parameters, requestBody } = operation;
    const known = path.replaceAll(/\{\w+\}/g, 'none');
    const required = parameters.filter((one) => one.required && one.in === 'query');
    for (const { name, schema } of parameters) {
      const values = schema?.enum ?? schema?.items?.enum;
      if (values === undefined || name === undefined) continue;
      const others = required.filter((one) => one.name !== name).map((one) => `&${one.name}=x`);
      await ask(method, `${known}?${name}=${wrong}${others.join('')}`, name, values);
    }
    const content = requestBody?.content['application/json'];
    for (const [name, property] of Object.entries(content?.schema.properties ?? {})) {
      const { enum: values } = property;
      if (values === undefined) continue;
      await ask(method, known, name, values, { ...content!.example, [name]: wrong });
    }
  }
  t.ok(asked > 60, `${asked} requests`);
});

t.test('its chapters begin with what a newcomer looks for', async (t) => {
  const names = document.tags.map(({ name }) => name);
  t.strictSame(names.slice(0, 4), ['Messages', 'Conversations', 'Participants', 'Access']);
});

t.test('messages inside of others have the schema of messages', async (t) => {
  const { chat_message: message, conversation } = document.components.schemas;
  for (const part of [message!.properties!.reply_to, conversation!.properties!.last_message]) {
    t.match(JSON.stringify(part), '"$ref":"#/components/schemas/chat_message"');
  }
});

t.test('files and long heads are in it', async (t) => {
  t.strictSame(Object.keys(files ?? {}), ['get', 'put']);
  const refusals = ['400', '403', '404', '410', '431', '500', '503'];
  t.strictSame(Object.keys(files!.get!.responses), ['200', ...refusals]);
  t.strictSame(Object.keys(files!.put!.responses), [
    '204',
    ...[...refusals, '408', '409', '413', '422'].sort(),
  ]);
  for (const { operation } of operations) t.ok(operation.responses['431'], operation.operationId);
});

t.test('mail over HTTP is in it, with its signature alone', async (t) => {
  const { post } = inbound!;
  t.strictSame(post!.security, []);
  t.strictSame(
    post!.parameters.map(({ name }) => name),
    ['Parley-Signature'],
  );
  const refusals = ['400', '401', '404', '408', '413', '415', '429', '431', '500', '502', '503', '504'];
  t.strictSame(Object.keys(post!.responses), ['200', ...refusals]);
});

t.test('dependencies between fields are in the document', async (t) => {
  const send = document.paths['/v1/messaging/conversations/{id}/messages']!.post!.requestBody!;
  t.equal(send.required, true);
  const check = compile(send.content['application/json'].schema as ReturnType<typeof Body>);
  const accepts = (body: object) => t.doesNotThrow(() => check(body), JSON.stringify(body));
  const refuses = (body: object) => t.throws(() => check(body), JSON.stringify(body));
  refuses({});
  refuses({ body: 'ahoy' });
  refuses({ client_message_id: '1' });
  refuses({ body: '', client_message_id: '1' });
  refuses({ body: 'ahoy', mode: 'draft' });
  refuses({ client_message_id: '1', link_resource_type: 'entity' });
  refuses({ client_message_id: '1', attachments: [{ kind: 'link' }] });
  accepts({ body: 'ahoy', client_message_id: '1' });
  accepts({ body: 'ahoy', mode: 'draft', channel: 'message' });
  accepts({ client_message_id: '1', link_resource_type: 'entity', link_resource_id: 'ent_1' });
  accepts({ client_message_id: '1', attachments: [{ kind: 'link', url: 'https://example.com' }] });
});

t.test('the highest number of a parameter is accepted', async (t) => {
  const path = `/v1/messaging/conversations/${app.demo.conversations.group}/messages`;
  const listed = document.paths['/v1/messaging/conversations/{id}/messages']!.get!.parameters;
  for (const name of ['after_sequence', 'before_sequence']) {
    const maximum = listed.find((parameter) => parameter.name === name)?.schema?.maximum;
    t.equal((await app.call('GET', `${path}?${name}=${maximum}`)).status, 200, `${name}=${maximum}`);
  }
});

t.test('examples are what their schemas accept', async (t) => {
  const contract = new Contract(JSON.parse(source));
  for (const { path, method, operation } of operations) {
    const { operationId, responses, requestBody } = operation;
    t.doesNotThrow(() => {
      for (const [status, { content }] of Object.entries(responses)) {
        if (content['application/json'] === undefined) continue;
        const { example, examples = {} } = content['application/json'];
        const named = Object.keys(examples).map((name) => document.components.examples[name]?.value);
        for (const value of example === undefined ? named : [example]) {
          contract.check(answer({ method, path, status: Number(status), text: JSON.stringify(value) }));
          t.notOk(hasPlaceholder(value), `${operationId}: ${JSON.stringify(value)}`);
        }
      }
    }, `${operationId}: its answers`);
    const request = requestBody?.content['application/json'];
    if (request === undefined) continue;
    const check = compile(request.schema as ReturnType<typeof Body>);
    t.doesNotThrow(() => check(structuredClone(request.example)), `${operationId}: its body`);
    t.notOk(hasPlaceholder(request.example), `${operationId}: ${JSON.stringify(request.example)}`);
  }
});

/** Whether an example has the text that stands where samples.ts knows of none. */
function hasPlaceholder(value: unknown): boolean {
  return /"text"(?!:)/.test(JSON.stringify(value));
}

t.test('a name denotes one schema', async (t) => {
  const numbered = Object.keys(document.components.schemas).filter((name) => /_\d+$/.test(name));
  t.strictSame(numbered, [], 'of two that differ, one needs a title of its own');
  const placeholders = Object.entries(document.components.schemas).filter(
    ([, { properties }]) => properties === undefined,
  );
  t.strictSame(placeholders, [], 'what is mentioned is there');
});

t.test('the linter of OpenAPI reports nothing', async (t) => {
  const file = join(freshDirectory(t), 'openapi.json');
  writeFileSync(file, source);
  const { code, stdout, stderr } = await runProgram(
    process.execPath,
    [
      join(ROOT, 'node_modules/@redocly/cli/bin/cli.js'),
      'lint',
      file,
      '--config',
      join(ROOT, 'redocly.yaml'),
      '--format',
      'json',
    ],
    { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  );
  t.equal(code, 0, stderr);
  const { totals, problems } = JSON.parse(stdout);
  t.strictSame(problems, []);
  t.strictSame(totals, { errors: 0, warnings: 0, ignored: 0 });
});

t.test('a document is served as bytes that a browser may keep', async (t) => {
  t.equal(documentHeaders.get('content-type'), 'application/json');
  const tag = documentHeaders.get('etag')!;
  t.match(tag, /^W\/"[\w-]{22}"$/);
  const again = await get('/v1/openapi.json', { 'If-None-Match': `"other", ${tag}` });
  t.strictSame([again.status, again.text, again.headers.get('etag')], [304, '', tag]);
  t.equal((await get('/v1/openapi.json', { 'If-None-Match': '"other"' })).text, source);
});

t.test('a document is compressed for clients that take it', async (t) => {
  const page = await get('/docs/states', { 'Accept-Encoding': 'identity' });
  t.equal(page.headers.get('content-encoding'), null);
  const encodings: readonly (readonly [accepted: string, sent: string | null])[] = [
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, GZIP;q=0.5', 'gzip'],
    ['deflate, *', null],
  ];
  for (const path of [
    '/v1/openapi.json',
    '/v1/asyncapi.json',
    '/docs/states',
    '/docs/assets/docs.css',
    '/v1/client.js',
    '/v1/client.d.ts',
  ]) {
    const plainText = await get(path, { 'Accept-Encoding': 'identity' });
    for (const [accepted, sent] of encodings) {
      const { status, headers, text } = await get(path, { 'Accept-Encoding': accepted });
      t.equal(status, 200);
      t.equal(text, plainText.text, `${path}, ${accepted}`);
      const isSmall = text.length < 200;
      t.ok(isSmall || headers.get('content-encoding') === sent, `${path}, ${accepted}`);
      t.equal(headers.get('vary'), 'Accept-Encoding');
      t.equal(headers.get('etag'), plainText.headers.get('etag'));
    }
  }
  const { headers } = await fetch(`${app.baseUrl}/v1/openapi.json`, { method: 'HEAD' });
  t.ok(Number(headers.get('content-length')) < source.length / 5, 'a fifth of its size, at most');
});

t.test('the pages of /docs are served under their policy', async (t) => {
  const paths = ['', '/', '/socket', '/agents', '/api/errors', '/states', '/access'].map(
    (path) => `/docs${path}`,
  );
  const pages = new Map<string, string>();
  for (const path of paths) {
    const { status, headers, text } = await get(path);
    t.equal(status, 200, path);
    t.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    t.match(headers.get('content-security-policy'), /^default-src 'self';/);
    t.notMatch(
      text,
      /<script(?![^>]* src="\/docs\/)|<style| style=| on\w+=/,
      'nothing inside that the policy forbids',
    );
    pages.set(path, text);
  }
  const loaded = [...pages.values()].flatMap((page) => [
    ...page.matchAll(/(?:src|href)="([^"#]+)(?:#([^"]*))?"/g),
  ]);
  for (const [, url = '', anchor] of loaded) {
    if (anchor !== undefined) t.match((await get(url)).text, `id="${anchor}"`, `${url}#${anchor}`);
  }
  for (const url of new Set(loaded.map(([, url]) => url!))) {
    t.match(url, /^\/(?!\/)/, 'of this server');
    const { status, headers } = await get(url);
    t.equal(status, 200, url);
    const type = EXPECTED_TYPES[/\.\w+$/.exec(url.split('?')[0]!)?.[0] ?? ''] ?? 'text/html; charset=utf-8';
    t.equal(headers.get('content-type'), type, url);
  }

  t.strictSame(Object.keys(ERROR_GUIDE), Object.keys(ERRORS), 'a text for each condition, in its order');
  const errors = pages.get('/docs/api/errors')!;
  for (const code of ERROR_CODES) t.match(errors, `id="${code}"`, 'an anchor for each code');
  const states = pages.get('/docs/states')!;
  for (const { field, moves } of STATE_MACHINES) {
    t.match(states, `id="${field}"`);
    for (const { from, to } of Object.values(moves)) {
      for (const state of [...from, to]) t.match(states, state === 'none' ? 'nothing' : `>${state}<`);
    }
  }
  const access = pages.get('/docs/access')!;
  for (const word of [...VERSIONS, ...PERMISSIONS]) t.match(access, `<code>${word}</code>`);
  for (const { path, method } of operations) {
    const line = `<code>${method} ${path.replace(/\{(\w+)\}/g, ':$1')}</code>`;
    t.match(access, line);
  }
  t.equal((await get('/docs/nothing')).status, 404);
  t.equal((await get('/docs/assets/../docs.css')).status, 404);
});

const EXPECTED_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
};

t.test("an error's link leads to its anchor", async (t) => {
  const { body } = await app.call('GET', '/v1/messaging/notifications?limit=0');
  const [page, anchor] = body.error.doc_url.split('#');
  t.match((await get(page!)).text, `id="${anchor}"`);
});

t.test('schemas become what OpenAPI 3.1 has', async (t) => {
  const schemas = new SchemaComponents();
  const Ship = Type.Object({
    id: Type.String(),
    object: Type.Literal('ship'),
    class: Nullable(OneOf(['tug', 'ferry'])),
    escort: Nullable(Type.Unsafe<object>({ type: 'object', title: 'ship' })),
    berths: Type.Record(Type.String(), Type.Boolean()),
    cargo: Nullable(Type.Unknown()),
    built_at: Nullable(Timestamp),
  });
  t.strictSame(plain(schemas.convert(plain(Ship))), { $ref: '#/components/schemas/ship' });
  t.strictSame(schemas.convert(plain(Type.Array(Ship))), {
    type: 'array',
    items: { $ref: '#/components/schemas/ship' },
  });
  t.strictSame(plain(schemas), {
    ship: {
      type: 'object',
      required: ['id', 'object', 'class', 'escort', 'berths', 'cargo', 'built_at'],
      properties: {
        id: { type: 'string' },
        object: { type: 'string', const: 'ship' },
        class: { type: ['string', 'null'], enum: ['tug', 'ferry', null] },
        escort: { anyOf: [{ $ref: '#/components/schemas/ship' }, { type: 'null' }] },
        berths: { type: 'object', additionalProperties: { type: 'boolean' } },
        cargo: { anyOf: [{}, { type: 'null' }] },
        built_at: { type: ['string', 'null'], format: 'date-time' },
      },
    },
  });
  const other = Type.Object({ object: Type.Literal('ship'), name: Type.String() });
  t.strictSame(schemas.convert(plain(other)), { $ref: '#/components/schemas/ship_2' }, 'never the same name');

  const tagged = Type.Unsafe({
    discriminator: { propertyName: 'kind' },
    oneOf: [Body({ kind: Type.Literal('rope'), length: Type.Integer({ minimum: 3 }) })],
  });
  const converted = schemas.convert(plain(tagged));
  t.notOk('discriminator' in converted, "ajv's own discriminator is none of OpenAPI's");
  t.strictSame(exampleOf(converted, schemas.find), { kind: 'rope', length: 3 });
  const body = Body({
    role_id: Type.String(),
    name: Type.Optional(Type.String()),
    cc: Type.Optional(Type.String()),
  });
  t.match(bodyExampleOf(schemas.convert(plain(body)), schemas.find, 'ship'), {
    role_id: /^rol_\w{24}$/,
    name: /\w/,
    cc: undefined,
  });
});

t.test('the schemas that answers are checked against', async (t) => {
  const contract = await Contract.of(app.baseUrl);
  const path = '/v1/messaging/notifications';
  const info = { next_page_url: null, previous_page_url: null, has_next_page: false, has_prev_page: false };
  const page = { object: 'list', page_info: info, data: [] };
  const refusal = (fields: object) => ({
    error: {
      code: 'resource_not_found',
      type: 'invalid_request_error',
      message: 'No.',
      param: null,
      doc_url: '/docs/api/errors#x',
      is_transient: false,
      request_log_url: null,
      ...fields,
    },
  });
  const check =
    (status: number, body: object, changes: Partial<WireAnswer> = {}) =>
    () =>
      contract.check(answer({ method: 'GET', path, status, text: JSON.stringify(body), ...changes }));

  t.doesNotThrow(check(200, page));
  t.doesNotThrow(check(404, refusal({})));
  t.doesNotThrow(check(404, refusal({}), { path: '/v1/nowhere' }));
  t.throws(
    check(200, page, { headers: new Headers({ 'Content-Type': 'application/json' }) }),
    /no Request-Id/,
  );
  t.throws(
    check(200, page, { headers: new Headers({ 'Request-Id': 'req_1', 'Content-Type': 'text/html' }) }),
    /text\/html/,
  );
  t.throws(check(200, { ...page, extra: 1 }), /additional properties/);
  t.throws(check(200, { ...page, page_info: { ...info, extra: 1 } }), /additional properties/);
  t.throws(check(200, { ...page, data: [{}] }), /required property/);
  t.throws(check(201, page), /documents no such status/);
  t.throws(check(418, refusal({})), /documents no such status/);
  t.throws(check(404, refusal({ extra: 1 })), /additional properties/);
  t.throws(check(400, refusal({})), /has no resource_not_found with this status/);
  t.throws(check(404, refusal({ is_transient: true })), /says otherwise/);
  t.throws(check(400, refusal({ code: 'missing_field' })), /not documented for this endpoint/);
  t.throws(check(404, {}, { path: '/v1/nowhere' }), /no error envelope/);
});

interface OpenApi {
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, SchemaObject>>;
    readonly parameters: Readonly<
      Record<string, { readonly description: string; readonly schema: SchemaObject }>
    >;
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly examples: Readonly<Record<string, { readonly value: object }>>;
  };
}

interface OperationObject {
  readonly operationId: string;
  readonly description: string;
  readonly parameters: readonly {
    readonly name?: string;
    readonly in?: string;
    readonly required?: boolean;
    readonly $ref?: string;
    readonly description?: string;
    readonly schema?: SchemaObject;
  }[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

interface Content {
  readonly required?: boolean;
  readonly content: {
    readonly 'application/json': {
      readonly schema: SchemaObject;
      readonly example?: object;
      readonly examples?: object;
    };
  };
}

/** Without any of the headers that the API asks for. */
async function get(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${app.baseUrl}${path}`, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function answer(
  fields: Pick<WireAnswer, 'method' | 'path' | 'status' | 'text'> & Partial<WireAnswer>,
): WireAnswer {
  return { headers: new Headers({ 'Request-Id': 'req_1', 'Content-Type': 'application/json' }), ...fields };
}

/** As it travels: typebox keeps notes of its own in symbols and hidden fields. */
function plain(value: object): SchemaObject {
  return JSON.parse(JSON.stringify(value));
}
