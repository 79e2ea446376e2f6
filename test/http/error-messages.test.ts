import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import { SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import { Body, Label, Nullable, OneOf } from '@parley/protocol/schema/schema.ts';
import { compile, compileQuery, parseObject } from '@parley/protocol/validation/validation.ts';
import t from 'tap';
import { Type } from 'typebox';
import { startTestApp } from '../support/app.ts';

/** Begins with a capital, a value or a name in backticks, and ends like a sentence. */
const SENTENCE = /^(?:[A-Z]|\$\{|\\?`)[\s\S]*(?:[.?]|\$\{[^}]*\})$/;

/** Words that an error to people of today does not use. */
const ODD = /\b(?:nobody|somebody|everybody|anybody|whoever|anew|hence|thereof)\b|\bno more\b|\bfor ever\b/i;

/** Functions of packages/protocol/errors/errors.ts that take a message. */
const SHARED_MAKERS = ['invalid', 'missingField', 'unavailable'];

t.test('every message of an error is a sentence', async (t) => {
  const src = resolve(import.meta.dirname, '../../src');
  const paths = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  );
  const found = paths.flatMap((path) => messagesIn(readFileSync(join(src, path), 'utf8'), path));
  t.ok(found.length > 150, `${found.length} messages were found`);
  t.strictSame(
    found.filter(({ message }) => !SENTENCE.test(message) || ODD.test(message)),
    [],
  );
  t.same(messagesIn("throw invalid('title', 'is too long')", 'x.ts'), [
    { path: 'x.ts', message: 'is too long' },
  ]);
  t.notMatch("new ApiError('missing_field', 'body is required')", SENTENCE);
  t.same(messagesIn("throw new ApiError('missing_field', 'body is required', {})", 'x.ts'), [
    { path: 'x.ts', message: 'body is required' },
  ]);
});

t.test('missing resources have one sentence', async (t) => {
  const { condition, message, param } = notFound('conversation', 'id');
  t.same([condition, message, param], ['resource_not_found', 'There is no such conversation.', 'id']);
  t.equal(notFound('endpoint').param, null);
});

t.test('broken JSON is answered with its place, never with its text', async (t) => {
  const cases: [text: string, message: string][] = [
    ['', 'Not valid JSON: it ends too early, at position 0.'],
    ['{"a":tru', 'Not valid JSON: it ends too early, at position 8.'],
    ['{"a":"secret', 'Not valid JSON: it ends too early, at position 12.'],
    ['{"a":1}secret', 'Not valid JSON at position 7.'],
    ["{'a':1}", 'Not valid JSON at position 1.'],
    ['{"a":1,}', 'Not valid JSON at position 7.'],
    // V8 names no place for these.
    ['{"a": secret}', 'Not valid JSON at position 6.'],
    ['{"a":[1,], "b":"a secret that is longer than what V8 quotes"}', 'Not valid JSON at position 8.'],
    ['{"a":[" JSON at position 1 (line 1 column 2)", secret]}', 'Not valid JSON at position 47.'],
    [`{"a":"${'x'.repeat(5_000)}", secret}`, 'Not valid JSON at position 5009.'],
    [`["${'x'.repeat(5_000)}", secret]`, 'Not valid JSON.'],
  ];
  for (const [text, expected] of cases)
    t.equal(
      messageOf(() => parseObject(text)),
      expected,
      text.slice(0, 60),
    );
});

t.test('requirements of values are in plain English', async (t) => {
  const read = compile(
    Body({
      text: Type.Optional(Type.String({ minLength: 2, maxLength: 40_000 })),
      title: Type.Optional(Label(1)),
      name: Type.Optional(Type.String({ minLength: 1, pattern: '^[a-z]+$' })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
      share: Type.Optional(Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1, multipleOf: 0.25 })),
      kind: Type.Optional(OneOf(['a', 'b'])),
      isDone: Type.Optional(Type.Boolean()),
      at: Type.Optional(Type.String({ format: 'date-time' })),
      mail: Type.Optional(Nullable(Type.String({ format: 'email' }))),
      link: Type.Optional(Type.String({ format: 'uri' })),
      file: Type.Optional(Type.String({ format: 'media-type' })),
      tags: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 2, uniqueItems: true })),
      facts: Type.Optional(Type.Record(Type.String(), Type.String(), { minProperties: 1, maxProperties: 2 })),
    }),
  );
  const cases: [body: object, message: string][] = [
    [{ text: 'x' }, 'Must be at least 2 characters.'],
    [{ text: 'x'.repeat(40_001) }, 'Must be at most 40,000 characters.'],
    [{ text: 5 }, 'Must be a string.'],
    [{ title: 'ab' }, 'Must be at most 1 character.'],
    [{ title: ' ' }, 'Must not be blank.'],
    [{ name: '' }, 'Must not be empty.'],
    [{ name: 'A' }, 'The text does not have the form that is asked for.'],
    [{ limit: 0 }, 'Must be at least 1.'],
    [{ limit: 1_001 }, 'Must be at most 1,000.'],
    [{ limit: 1.5 }, 'Must be an integer.'],
    [{ share: 0 }, 'Must be more than 0.'],
    [{ share: 1 }, 'Must be less than 1.'],
    [{ share: 0.3 }, 'Must be a multiple of 0.25.'],
    [{ share: '0.5' }, 'Must be a number.'],
    [{ kind: 'c' }, 'Must be one of: a, b.'],
    [{ isDone: 1 }, 'Must be true or false.'],
    [{ at: 'tomorrow' }, 'Must be a valid RFC 3339 date-time with an offset.'],
    [{ mail: 'x' }, 'Must be a valid e-mail address.'],
    [{ mail: 5 }, 'Must be a string.'],
    [{ link: '::' }, 'Must be a valid URI.'],
    [{ file: 'x' }, 'Must be a valid media type.'],
    [{ tags: 'x' }, 'Must be a list.'],
    [{ tags: [] }, 'Must have at least 1 item.'],
    [{ tags: ['a', 'b', 'c'] }, 'Must have at most 2 items.'],
    [{ tags: ['a', 'a'] }, 'This is in the list twice. Leave the second one out.'],
    [{ facts: [] }, 'Must be an object.'],
    [{ facts: {} }, 'Must have at least 1 field.'],
    [{ facts: { a: '', b: '', c: '' } }, 'Must have at most 2 fields.'],
  ];
  for (const [body, expected] of cases)
    t.equal(
      messageOf(() => read(body)),
      expected,
      JSON.stringify(body).slice(0, 60),
    );
});

t.test('every pattern has a sentence for people', async (t) => {
  const { routes } = await startTestApp(t);
  const bodies = routes.flatMap(({ name, query, body }) => [
    [name, query],
    [name, body],
  ]);
  const found: unknown[] = [];
  const walk = (name: unknown, schema: unknown) => {
    if (typeof schema !== 'object' || schema === null) return;
    if ('pattern' in schema && typeof schema.pattern === 'string') {
      const { pattern, sentence } = schema as { pattern: string; sentence?: string };
      found.push(pattern);
      t.match(sentence, /^Must .*[.]$/, `${name} ${pattern}`);
      t.notMatch(sentence, /[\\^$]/);
    }
    for (const part of Object.values(schema)) walk(name, part);
  };
  for (const [name, schema] of bodies) walk(name, schema);
  t.ok(new Set(found).size >= 6);
});

t.test('a field that is missing is answered with what it may be', (t) => {
  const read = compile(Body({ kind: OneOf(['a', 'b']), name: Type.String() }));
  t.equal(
    messageOf(() => read({ name: 'x' })),
    'This field is required. It must be one of: a, b.',
  );
  t.equal(
    messageOf(() => read({ kind: 'a' })),
    'This field is required.',
  );
  t.end();
});

t.test('an unknown field or parameter is answered with the one that was meant', async (t) => {
  const readMessage = compile(SendMessageBody);
  const readQuery = compileQuery(
    Body({
      limit: Type.Optional(Type.Integer()),
      unread_only: Type.Optional(Type.Boolean()),
      'include[]': Type.Optional(Type.Array(Type.String())),
    }),
  );
  const fields: [body: object, message: string][] = [
    [{ text: 'Hello' }, 'There is no such field here. Did you mean body?'],
    [{ content: 'Hello' }, 'There is no such field here. Did you mean body?'],
    [{ message: 'Hello' }, 'There is no such field here. Did you mean body?'],
    [{ clientMessageId: 'a' }, 'There is no such field here. Did you mean client_message_id?'],
    [{ sender: 'a' }, 'There is no such field here.'],
    [{ client_mesage_id: 'a' }, 'There is no such field here. Did you mean client_message_id?'],
    [
      { attachments: [{ kind: 'link', url: 'https://a.example', filenam: 'a' }] },
      'There is no such field here. Did you mean filename?',
    ],
    // The one that was meant is not one that was sent too.
    [{ text: 'Hello', body: 'Hello' }, 'There is no such field here.'],
    [{ __proto__x: 1 }, 'There is no such field here.'],
    [{ toString: 1 }, 'There is no such field here.'],
  ];
  for (const [body, expected] of fields)
    t.equal(
      messageOf(() => readMessage(body)),
      expected,
      JSON.stringify(body),
    );
  const parameters: [query: Record<string, string | string[]>, message: string][] = [
    [{ 'expand[]': ['sender'] }, 'There is no such parameter here. Did you mean include[]?'],
    [{ expand: 'sender' }, 'There is no such parameter here. Did you mean include[]?'],
    [{ include: 'sender' }, 'There is no such parameter here. Did you mean include[]?'],
    [{ page_size: '5' }, 'There is no such parameter here. Did you mean limit?'],
    [{ per_page: '5' }, 'There is no such parameter here. Did you mean limit?'],
    [{ unread_olny: 'true' }, 'There is no such parameter here. Did you mean unread_only?'],
    [{ text: 'x' }, 'There is no such parameter here.'],
  ];
  for (const [query, expected] of parameters)
    t.equal(
      messageOf(() => readQuery(query)),
      expected,
      JSON.stringify(query),
    );
});

interface Message {
  readonly path: string;
  readonly message: string;
}

/**
 * The texts that the errors of a file are made with: in place, as a constant, or handed to a
 * function that makes one.
 */
function messagesIn(code: string, path: string): Message[] {
  const makers = [
    ...code.matchAll(/function (\w+)\([^)]*\bmessage: string[^)]*\)[^{]*\{\s*return new ApiError\(/g),
  ];
  const names = [...SHARED_MAKERS, ...makers.map(([, name]) => name)];
  const starts = [
    /\bnew ApiError\(\s*(?:'\w+'|condition),\s*/g,
    /\bconst message =\s*/g,
    ...names.map(
      (name) =>
        new RegExp(
          `(?<!function )(?<!\\.)\\b${name}\\(\\s*(?:(?:'[^']*'|\`[^\`]*\`|\\w+),\\s*)?(?=['\`])`,
          'g',
        ),
    ),
  ];
  return starts.flatMap((start) =>
    [...code.matchAll(start)].flatMap(({ 0: { length }, index }) => {
      const [, , message] = /^(['`])((?:\\.|(?!\1)[\s\S])*)\1/.exec(code.slice(index + length)) ?? [];
      // A parameter's name may stand first.
      return message === undefined || !message.includes(' ') ? [] : [{ path, message }];
    }),
  );
}

function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
  return 'was accepted';
}
