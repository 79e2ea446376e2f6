/**
 * The document of the socket and its page, compared with the tables they are made of and with real
 * frames.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMANDS } from '@parley/protocol/socket/commands.ts';
import { EVENTS } from '@parley/protocol/socket/events.ts';
import { SERVER_FRAMES } from '@parley/protocol/socket/server-frames.ts';
import { SOCKET_LIMITS } from '@parley/protocol/socket/socket-limits.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import t from 'tap';
import { WebSocket } from 'ws';
import type { SchemaObject } from '../../src/api/documents/openapi/schemas.ts';
import { freshDirectory, ROOT, runProgram } from '../start/parley.ts';
import { borrowTestApp } from '../support/app.ts';
import { muteFields, THREE_WORDS } from '../support/mute-fields.ts';
import { until } from '../support/until.ts';

const app = await borrowTestApp(t);
const response = await fetch(`${app.baseUrl}/v1/asyncapi.json`);
const source = await response.text();
const document: AsyncApi = JSON.parse(source);

t.test('every op, frame and event is in it', async (t) => {
  t.equal(response.headers.get('content-type'), 'application/json');
  t.match(document, { asyncapi: '3.0.0', channels: { realtime: { address: '/v1/realtime' } } });
  const { operations } = document;
  const others = ['answer_heartbeat', 'say', 'tell'];
  t.strictSame(Object.keys(operations).sort(), [...Object.keys(COMMANDS), ...others].sort());
  t.strictSame(messagesOf('say'), Object.keys(SERVER_FRAMES));
  t.strictSame(
    messagesOf('tell'),
    Object.keys(EVENTS).map((event) => event.replaceAll('.', '_')),
  );
  for (const [op, { result }] of Object.entries(COMMANDS)) {
    const { action, reply } = operations[op]!;
    t.equal(action, 'receive');
    t.strictSame(messagesOf(op), [`${op}_request`]);
    const answer = op === 'ping' ? 'pong' : op === 'authenticate' ? 'ready' : `${op}_reply`;
    t.equal(result === null, !answer.endsWith('_reply'));
    t.strictSame(
      reply?.messages.map(({ $ref }) => lastOf($ref)),
      [answer, 'refusal'],
    );
  }
  t.strictSame(
    Object.keys(document.components.schemas).filter((name) => /_\d+$/.test(name)),
    [],
    'a name stands for one schema',
  );
});

t.test('nothing in it is without a description', (t) => {
  const { messages, schemas } = document.components;
  t.strictSame(
    Object.entries(schemas).flatMap(([name, schema]) => muteFields(schema, name)),
    [],
    'fields',
  );
  for (const [name, { summary }] of Object.entries({ ...messages, ...document.operations })) {
    t.match(summary, THREE_WORDS, name);
  }
  t.end();
});

t.test('the linter of AsyncAPI reports nothing', async (t) => {
  const directory = freshDirectory(t);
  const [file, config] = [join(directory, 'asyncapi.json'), join(directory, 'redocly.yaml')];
  writeFileSync(file, source);
  writeFileSync(config, 'extends: [recommended-strict]\n');
  const { code, stdout, stderr } = await runProgram(
    process.execPath,
    [
      join(ROOT, 'node_modules/@redocly/cli/bin/cli.js'),
      'lint',
      file,
      '--config',
      config,
      '--format',
      'json',
    ],
    { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  );
  t.equal(code, 0, stderr);
  t.strictSame(JSON.parse(stdout).problems, []);
});

t.test('frames of a real socket match the document', async (t) => {
  const { demo } = app;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ components: document.components }, 'asyncapi');
  const problemOf = (name: string, frame: unknown) => {
    const message = document.components.messages[name];
    if (message === undefined) return `there is no message ${name}`;
    const check = ajv.compile({ $ref: `asyncapi${message.payload.$ref}` });
    return check(frame) ? undefined : ajv.errorsText(check.errors);
  };
  t.match(problemOf('caught_up', { type: 'caught_up' }), /conversation_id/, 'the check can fail');

  const socket = new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`);
  t.teardown(() => socket.terminate());
  const frames: Frame[] = [];
  socket.on('message', (data) => frames.push(JSON.parse(data.toString())));
  const frame = (fits: (frame: Frame) => boolean, what: string) =>
    until(() => frames.find(fits), { what: `${what}; got ${JSON.stringify(frames)}` });
  await frame(({ type }) => type === 'hello', 'hello');
  const asked: readonly (readonly [op: string, fields: object])[] = [
    ['authenticate', { token: demo.api_key, account: demo.account_id, version: demo.service_version }],
    ['subscribe', { conversation_id: demo.conversations.group, after_sequence: 0 }],
    ['ping', {}],
    ['subscribe', { conversation_id: 'cnv_nothing' }],
    ['unsubscribe', { conversation_id: 'cnv_nothing' }],
  ];
  for (const [index, [op, fields]] of asked.entries()) {
    const request = { type: op, id: `r${index}`, ...fields };
    t.equal(problemOf(`${op}_request`, request), undefined, `${op} as it is sent`);
    socket.send(JSON.stringify(request));
    const answer = await frame(
      ({ type, id }) => id === request.id || (op === 'authenticate' && type === 'ready'),
      op,
    );
    const name = answer.type !== 'reply' ? answer.type : answer.ok ? `${op}_reply` : 'refusal';
    t.equal(problemOf(name, answer), undefined, `${op} is answered with ${name}`);
  }
  const path = `/v1/messaging/conversations/${demo.conversations.group}`;
  await app.call('POST', `${path}/messages`, { body: { body: 'ahoy', client_message_id: 'one' } });
  await app.call('PATCH', path, { body: { title: 'Harbor' } });
  for (const name of ['message.created', 'conversation.updated']) {
    const event = await frame(({ event }) => event === name, name);
    t.equal(problemOf(name.replace('.', '_'), event), undefined, name);
  }
});

t.test('the page of AsyncAPI is served', async (t) => {
  const page = await (await fetch(`${app.baseUrl}/docs/socket`)).text();
  const words = [COMMANDS, SERVER_FRAMES, EVENTS, SOCKET_LIMITS].flatMap((each) => Object.keys(each));
  for (const word of words) t.match(page, `<code>${word}</code>`);
  t.match(page, '<code>after_sequence?</code>');
  t.match(page, '<code>conversation_id</code>');
  t.notMatch(
    page,
    /<script(?![^>]* src="\/docs\/)|<style| style=| on\w+=/,
    'nothing inside that the policy forbids',
  );
  for (const [, url = ''] of page.matchAll(/(?:src|href)="([^"#]+)/g)) {
    t.match(url, /^\/(?!\/)/, 'of this server');
    t.equal((await fetch(`${app.baseUrl}${url}`)).status, 200, url);
  }
  t.match(await (await fetch(`${app.baseUrl}/docs`)).text(), 'href="/docs/socket"');
});

function messagesOf(operation: string): string[] {
  return document.operations[operation]!.messages.map(({ $ref }) => lastOf($ref));
}

function lastOf(reference: string): string {
  return reference.split('/').at(-1)!;
}

interface Reference {
  readonly $ref: string;
}

interface AsyncApi {
  readonly operations: Readonly<
    Record<
      string,
      {
        readonly action: string;
        readonly summary?: string;
        readonly messages: Reference[];
        readonly reply?: { messages: Reference[] };
      }
    >
  >;
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly payload: Reference; readonly summary?: string }>>;
    readonly schemas: Readonly<Record<string, SchemaObject>>;
  };
}

interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly ok?: boolean;
  readonly event?: string;
}
