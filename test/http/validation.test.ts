import { ApiError } from '@parley/protocol/errors/errors.ts';
import { SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import { isDateTime, isEmail } from '@parley/protocol/schema/formats.ts';
import { Body, Label, Nullable, OneOf, Text } from '@parley/protocol/schema/schema.ts';
import { compile, compileQuery, parseObject } from '@parley/protocol/validation/validation.ts';
import t from 'tap';
import { Type } from 'typebox';
import { parseQuery } from '../../src/api/pipeline/query.ts';

const NOTE = Body({
  title: Type.String({ minLength: 1, maxLength: 5 }),
  kind: Type.Optional(OneOf(['a', 'b'])),
  count: Type.Optional(Type.Integer({ minimum: 0, maximum: 9 })),
  share: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  flag: Type.Optional(Type.Boolean()),
  at: Type.Optional(Type.String({ format: 'date-time' })),
  mail: Type.Optional(Type.String({ format: 'email' })),
  link: Type.Optional(Type.String({ format: 'uri' })),
  slug: Type.Optional(Type.String({ pattern: '^[a-z]+$' })),
  tags: Type.Optional(Type.Array(Type.String(), { maxItems: 2, minItems: 1 })),
  note: Type.Optional(Nullable(Type.String({ maxLength: 3 }))),
  owner: Type.Optional(Nullable(Body({ id: Type.String(), age: Type.Optional(Type.Integer()) }))),
  anything: Type.Optional(Type.Unknown()),
  review: Type.Optional(Type.Record(Type.String(), Type.Boolean())),
  items: Type.Optional(
    Type.Array(Body({ name: Type.String(), url: Type.Optional(Type.String({ format: 'uri' })) })),
  ),
});
const readNote = compile(NOTE);
const readMessage = compile(SendMessageBody);

t.test('bodies: code and param of what is wrong', async (t) => {
  const cases: [body: unknown, refusal: string][] = [
    [{}, 'missing_field title'],
    [{ title: null }, 'missing_field title'],
    [{ title: 5 }, 'invalid_format title'],
    [{ title: [] }, 'invalid_format title'],
    [{ title: {} }, 'invalid_format title'],
    [{ title: true }, 'invalid_format title'],
    [{ title: '' }, 'validation_failed title'],
    [{ title: '123456' }, 'validation_failed title'],
    [{ title: 'a', what: 1 }, 'validation_failed what'],
    [{ title: 'a', what: null }, 'validation_failed what'],
    [{ title: 'a', kind: 'c' }, 'validation_failed kind'],
    [{ title: 'a', kind: 1 }, 'invalid_format kind'],
    [{ title: 'a', count: '1' }, 'invalid_format count'],
    [{ title: 'a', count: 1.5 }, 'invalid_format count'],
    [{ title: 'a', count: -1 }, 'validation_failed count'],
    [{ title: 'a', count: 10 }, 'validation_failed count'],
    [{ title: 'a', share: 1.1 }, 'validation_failed share'],
    [{ title: 'a', flag: 'true' }, 'invalid_format flag'],
    [{ title: 'a', flag: 0 }, 'invalid_format flag'],
    [{ title: 'a', at: 'tomorrow' }, 'invalid_format at'],
    [{ title: 'a', at: 5 }, 'invalid_format at'],
    [{ title: 'a', mail: 'a@b' }, 'invalid_format mail'],
    [{ title: 'a', link: 'no url' }, 'invalid_format link'],
    [{ title: 'a', slug: 'A' }, 'validation_failed slug'],
    [{ title: 'a', tags: 'x' }, 'invalid_format tags'],
    [{ title: 'a', tags: {} }, 'invalid_format tags'],
    [{ title: 'a', tags: [] }, 'validation_failed tags'],
    [{ title: 'a', tags: ['x', 'y', 'z'] }, 'validation_failed tags'],
    [{ title: 'a', tags: ['x', 1] }, 'invalid_format tags[1]'],
    [{ title: 'a', tags: [null] }, 'invalid_format tags[0]'],
    [{ title: 'a', note: 5 }, 'invalid_format note'],
    [{ title: 'a', note: 'long' }, 'validation_failed note'],
    [{ title: 'a', owner: 5 }, 'invalid_format owner'],
    [{ title: 'a', owner: {} }, 'missing_field owner.id'],
    [{ title: 'a', owner: { id: 5 } }, 'invalid_format owner.id'],
    [{ title: 'a', owner: { id: 'x', more: 1 } }, 'validation_failed owner.more'],
    [{ title: 'a', owner: { id: null } }, 'missing_field owner.id'],
    [{ title: 'a', review: { x: 'yes' } }, 'invalid_format review.x'],
    [{ title: 'a', review: { 'a/b~c': 1 } }, 'invalid_format review.a/b~c'],
    [{ title: 'a', review: { 0: 1 } }, 'invalid_format review.0'],
    [{ title: 'a', items: [{ name: 'x' }, {}] }, 'missing_field items[1].name'],
    [{ title: 'a', items: [{ name: 'x', url: '::' }] }, 'invalid_format items[0].url'],
    [{ title: 'a', items: [{ name: 'x', url: 7 }] }, 'invalid_format items[0].url'],
    [{ title: 'a', items: [{ name: 'x', z: 7 }] }, 'validation_failed items[0].z'],
    [{ title: 'a', constructor: 1 }, 'validation_failed constructor'],
    [{ title: 'a', toString: 1 }, 'validation_failed toString'],
    [JSON.parse('{"title":"a","__proto__":{"x":1}}'), 'validation_failed __proto__'],
    // Several at once: the missing first, then the unknown, then the others in the order of the
    // schema.
    [{ flag: 1, what: 1 }, 'missing_field title'],
    [{ what: 1, title: 5 }, 'validation_failed what'],
    [{ items: 5, flag: 5, title: 5 }, 'invalid_format title'],
    [{ items: 5, flag: 5, title: 'a' }, 'invalid_format flag'],
  ];
  for (const [body, expected] of cases) {
    t.equal(
      refusalOf(() => readNote(structuredClone(body))),
      expected,
      JSON.stringify(body),
    );
  }
  t.equal(
    refusalOf(() => readMessage({ attachments: [{ kind: 'link', url: 7 }] })),
    'invalid_format attachments[0].url',
  );
  t.equal(
    refusalOf(() => readMessage({ attachments: new Array(21).fill({ kind: 'link' }) })),
    'validation_failed attachments',
  );
  t.equal(
    refusalOf(() => readMessage({ body: 'é'.repeat(40_001) })),
    'validation_failed body',
  );
  t.ok(readMessage({ body: '😀'.repeat(40_000) }), 'characters, not UTF-16 units');
});

t.test('white space of a request body is handled by its schema', async (t) => {
  const read = compile(
    Body({
      text: Text(3),
      label: Label(3),
      cleared: Type.Optional(Nullable(Label(3))),
      labels: Type.Optional(Type.Array(Label(3))),
    }),
  );
  const spaced = { text: ' a ', label: '\n abc ', cleared: ' b', labels: ['c '] };
  t.same(read(spaced), { text: ' a ', label: 'abc', cleared: 'b', labels: ['c'] });
  t.same(read({ text: ' \t\u00a0\u3000\n', label: 'a', cleared: null }), {
    text: '',
    label: 'a',
    cleared: null,
  });
  for (const label of ['', ' ', '\u2003']) {
    t.equal(
      refusalOf(() => read({ text: '', label })),
      'validation_failed label',
    );
  }
  t.equal(
    refusalOf(() => read({ text: 'abcd', label: 'a' })),
    'validation_failed text',
  );
});

t.test('bodies: what is let through', async (t) => {
  const whole = {
    title: 'a',
    kind: 'b',
    count: 9,
    share: 0.5,
    flag: false,
    at: '2026-11-21T10:00:00.123456+01:00',
    mail: 'ada@example.org',
    link: 'https://example.org/a?b=c#d',
    slug: 'x',
    tags: ['x'],
    note: null,
    owner: { id: 'x' },
    anything: { a: [null] },
    review: { x: true },
    items: [{ name: 'x' }],
  };
  t.same(readNote(structuredClone(whole)), whole);
});

t.test(
  'null on an optional field counts as absent, at any depth; where null means something it stays',
  async (t) => {
    const read = readNote({
      title: 'a',
      kind: null,
      tags: null,
      note: null,
      owner: { id: 'x', age: null },
      anything: null,
      items: [
        { name: 'x', url: null },
        { name: 'y', url: null },
      ],
    });
    t.same(read, {
      title: 'a',
      note: null,
      owner: { id: 'x' },
      anything: null,
      items: [{ name: 'x' }, { name: 'y' }],
    });
  },
);

t.test('where null clears, a field of the body that cannot be null is refused', async (t) => {
  const read = compile(NOTE, { nullClears: true });
  const refusal = (value: object) => refusalOf(() => read({ title: 'a', ...value }));
  t.equal(refusal({ kind: null }), 'missing_field kind');
  t.equal(refusal({ tags: null }), 'missing_field tags');
  t.equal(refusal({ tags: [null] }), 'invalid_format tags[0]');
  const owner = { id: 'x', age: null };
  t.same(read({ title: 'a', note: null, owner, items: [{ name: 'x', url: null }] }), {
    title: 'a',
    note: null,
    owner: { id: 'x' },
    items: [{ name: 'x' }],
  });
});

t.test('one of several shapes, distinguished by a tag', async (t) => {
  const read = compile(
    Type.Unsafe<object>({
      type: 'object',
      discriminator: { propertyName: 'type' },
      required: ['type'],
      oneOf: [
        Body({ type: Type.Literal('cat'), lives: Type.Integer({ maximum: 9 }) }),
        Body({ type: Type.Literal('dog'), name: Type.String() }),
      ],
    }),
  );
  t.same(read({ type: 'cat', lives: 9 }), { type: 'cat', lives: 9 });
  const cases: [body: unknown, refusal: string][] = [
    [{}, 'missing_field type'],
    [{ type: 'cow' }, 'validation_failed type'],
    [{ type: 5 }, 'invalid_format type'],
    [{ type: 'cat' }, 'missing_field lives'],
    [{ type: 'cat', lives: 10 }, 'validation_failed lives'],
    [{ type: 'dog', name: 'x', lives: 1 }, 'validation_failed lives'],
  ];
  for (const [body, expected] of cases)
    t.equal(
      refusalOf(() => read(body)),
      expected,
      JSON.stringify(body),
    );
});

t.test('text of a request body is validated', async (t) => {
  const cases: [text: string, refusal: string][] = [
    ['{', 'invalid_format null'],
    ['', 'invalid_format null'],
    ['{"a":1}x', 'invalid_format null'],
    ["{'a':1}", 'invalid_format null'],
    ['{"a":NaN}', 'invalid_format null'],
    ['\ufeff{}', 'invalid_format null'],
    ['[]', 'invalid_format null'],
    ['null', 'invalid_format null'],
    ['"x"', 'invalid_format null'],
    ['5', 'invalid_format null'],
    ['{"a":"\\u0000"}', 'invalid_format a'],
    ['{"a":"\\ud800"}', 'invalid_format a'],
    ['{"a":"\\udc00\\ud800"}', 'invalid_format a'],
    ['{"a":["x",{"b":"\\ud83d"}]}', 'invalid_format a[1].b'],
    ['{"a":{"\\u0000":1}}', 'invalid_format a'],
    ['{"\\ud800":1}', 'invalid_format null'],
    ['{"a":"\u0000"}', 'invalid_format null'],
    [`{"a":${'['.repeat(100_000)}`, 'invalid_format null'],
    [`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'invalid_format null'],
    [`${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`, 'invalid_format null'],
  ];
  for (const [text, expected] of cases)
    t.equal(
      refusalOf(() => parseObject(text)),
      expected,
      text.slice(0, 40),
    );

  t.same(parseObject('{"a":"\\ud83d\\ude00 \\u00e9"}'), { a: '😀 é' });
  t.same(parseObject(' {"a" : [1]}\n'), { a: [1] });
  t.ok(parseObject(JSON.stringify({ a: '['.repeat(1_000) })), 'brackets in a string are no nesting');
  t.ok(parseObject(`{"a":"\\"${'['.repeat(1_000)}"}`), 'also behind an escaped quote');
  t.ok(parseObject(JSON.stringify({ a: new Array(1_000).fill([{}]) })), 'wide is not deep');
  t.ok(parseObject(`{"a":${'['.repeat(99)}${']'.repeat(99)}}`));
});

t.test('date-time: RFC 3339 with offset, of days that exist', async (t) => {
  const good = [
    '2026-11-21T10:00:00Z',
    '2026-11-21t10:00:00z',
    '2026-11-21T10:00:00.1+01:00',
    '2026-11-21T23:59:59.123456789-11:30',
    '2024-02-29T00:00:00Z',
    '2000-02-29T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
  ];
  const bad = [
    '2026-11-21',
    '2026-11-21T10:00:00',
    '2026-11-21 10:00:00Z',
    '2026-11-21T10:00Z',
    '2026-11-21T10:00:00+01',
    '2026-11-21T10:00:00+0100',
    '2026-11-21T24:00:00Z',
    '2026-11-21T10:60:00Z',
    '2016-12-31T23:59:60Z',
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-13-10T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '2026-11-21T10:00:00+24:00',
    '2026-11-21T10:00:00.Z',
    '+002026-11-21T10:00:00Z',
    '2026-11-21T10:00:00Z\n',
    '',
    '1763719200',
  ];
  for (const text of good) {
    t.ok(isDateTime(text), text);
    t.notOk(Number.isNaN(Date.parse(text)), `Date reads ${text}`);
  }
  for (const text of bad) t.notOk(isDateTime(text), text);
});

t.test('email, also where it is long', async (t) => {
  t.ok(isEmail('a.b+c@x-y.example.org'));
  for (const text of ['a', '@b.c', 'a@b', 'a@b..c', 'a b@c.de', `${'a'.repeat(250)}@b.de`])
    t.notOk(isEmail(text));
});

t.test('query parameters are validated', async (t) => {
  const read = compileQuery(
    Body({
      id: Type.String(),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      share: Type.Optional(Type.Number()),
      flag: Type.Optional(Type.Boolean()),
      status: Type.Optional(OneOf(['a', 'b'])),
      at: Type.Optional(Type.String({ format: 'date-time' })),
      'include[]': Type.Optional(Type.Array(OneOf(['sender', 'author']))),
    }),
  );
  const cases: [query: string, refusal: string][] = [
    ['', 'parameter_missing id'],
    ['limit=5', 'parameter_missing id'],
    ['id=x&what=1', 'parameter_unknown what'],
    ['id=x&include=sender', 'parameter_unknown include'],
    ['id=x&id[]=y', 'parameter_unknown id[]'],
    ['id=x&limit=0', 'parameter_invalid limit'],
    ['id=x&limit=-1', 'parameter_invalid limit'],
    ['id=x&limit=101', 'parameter_invalid limit'],
    ['id=x&limit=abc', 'parameter_invalid limit'],
    ['id=x&limit=1.5', 'parameter_invalid limit'],
    ['id=x&limit=1e1', 'parameter_invalid limit'],
    ['id=x&limit=0x5', 'parameter_invalid limit'],
    ['id=x&limit=', 'parameter_invalid limit'],
    ['id=x&limit', 'parameter_invalid limit'],
    ['id=x&limit=%2B5', 'parameter_invalid limit'],
    ['id=x&limit=99999999999999999999', 'parameter_invalid limit'],
    ['id=x&limit=5&limit=5', 'parameter_invalid limit'],
    ['id=x&id=y', 'parameter_invalid id'],
    ['id=x&nothing=1&nothing=2', 'parameter_unknown nothing'],
    ['id=x&flag=yes', 'parameter_invalid flag'],
    ['id=x&status=c', 'parameter_invalid status'],
    ['id=x&at=now', 'parameter_invalid at'],
    ['id=x&include[]=reply', 'parameter_invalid include[]'],
    ['id=x&include[]=sender&include%5B%5D=reply', 'parameter_invalid include[]'],
    ['id=%ff', 'parameter_invalid id'],
    ['id=%', 'parameter_invalid id'],
    ['id=%00', 'parameter_invalid id'],
    ['id=%ED%A0%80', 'parameter_invalid id'],
    ['%=1', 'parameter_invalid null'],
    ['id=x&__proto__=1', 'parameter_unknown __proto__'],
    ['id=x&constructor=1', 'parameter_unknown constructor'],
  ];
  for (const [query, expected] of cases)
    t.equal(
      refusalOf(() => read(parseQuery(query))),
      expected,
      query,
    );

  t.same(
    { ...read(parseQuery('id=a%20b+c&limit=100&share=-0.5&flag=true&&at=2026-11-21T10:00:00%2B01:00')) },
    {
      id: 'a b c',
      limit: 100,
      share: -0.5,
      flag: true,
      at: '2026-11-21T10:00:00+01:00',
    },
  );
  t.same(
    { ...read(parseQuery('id=x&include[]=sender&include%5B%5D=author')) },
    { id: 'x', 'include[]': ['sender', 'author'] },
  );
});

/** `code param`, as it was refused. */
function refusalOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ApiError) return `${error.condition} ${error.param}`;
    throw error;
  }
  return 'not refused';
}
