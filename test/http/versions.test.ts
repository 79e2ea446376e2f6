/**
 * The effects of `Since` (packages/protocol/schema/since.ts), on resources of the test and of the
 * service.
 */

import { readFile } from 'node:fs/promises';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import { formAt, shapeOf } from '@parley/protocol/forms/forms.ts';
import { isMention, mentioned } from '@parley/protocol/forms/mentions.ts';
import { Body, Include, Nullable } from '@parley/protocol/schema/schema.ts';
import { MEMBERS_SINCE, NullBefore, Since, schemaAt } from '@parley/protocol/schema/since.ts';
import { EVENT_DATA } from '@parley/protocol/socket/event-data.ts';
import { SERVER_FRAMES } from '@parley/protocol/socket/server-frames.ts';
import { compile, compileQuery } from '@parley/protocol/validation/validation.ts';
import { DEPRECATIONS, FORMER_NAMES } from '@parley/protocol/versions.ts';
import t from 'tap';
import { type TSchema, Type } from 'typebox';
import { SchemaComponents, type SchemaObject } from '../../src/api/documents/openapi/schemas.ts';
import { cutMarked, markedJson, markedLike, markedWithin, unmarkedForm } from '../../src/api/marked-json.ts';
import { toFrame } from '../../src/core/frames/publish.ts';
import { bytesFor } from '../../src/edge/gateway/stream/forms.ts';
import { borrowTestApp } from '../support/app.ts';

const [FIRST, MIDDLE, NEWEST] = ['1.0.harbor', '1.1.harbor', '1.4.harbor'] as const;

const Crate = Type.Object({
  id: Type.String(),
  object: Type.Literal('crate'),
  label: Since(MIDDLE, Type.String()),
  seal: Since(NEWEST, Nullable(Type.String())),
});
const Barrel = Type.Object({ object: Type.Literal('barrel'), litres: Since(NEWEST, Type.Integer()) });
const Ship = Type.Object({
  id: Type.String(),
  object: Type.Literal('ship'),
  first: Nullable(Crate),
  cargo: Type.Array(Crate),
  deck: Since(NEWEST, Type.Array(Crate)),
  hold: Type.Array(Type.Union([Crate, Barrel, Type.Null()])),
  log: Type.Record(Type.String(), Type.Unknown()),
  name: Since(NEWEST, Type.String()),
});

const crate = (id: string) => ({ id, object: 'crate', label: `no. ${id}`, seal: 'tab \t and "quotes" , \\' });
const SHIP = {
  id: 's',
  object: 'ship',
  first: crate('1'),
  cargo: [crate('2'), crate('3')],
  deck: [crate('4')],
  hold: [crate('5'), { object: 'barrel', litres: 9 }, null],
  log: { seal: 'kept' },
  name: 'Fähre 🚢',
};

const old = (id: string) => ({ id, object: 'crate' });
const middle = (id: string) => ({ ...old(id), label: `no. ${id}` });
const EXPECTED = {
  [FIRST]: {
    id: 's',
    object: 'ship',
    first: old('1'),
    cargo: [old('2'), old('3')],
    hold: [old('5'), { object: 'barrel' }, null],
    log: { seal: 'kept' },
  },
  [MIDDLE]: {
    id: 's',
    object: 'ship',
    first: middle('1'),
    cargo: [middle('2'), middle('3')],
    hold: [middle('5'), { object: 'barrel' }, null],
    log: { seal: 'kept' },
  },
  [NEWEST]: SHIP,
};

t.test('an answer has the fields of its version, at any depth', async (t) => {
  const before = structuredClone(SHIP);
  for (const version of [FIRST, MIDDLE, NEWEST] as const) {
    t.strictSame(JSON.parse(JSON.stringify(formAt(version, Ship, SHIP))), EXPECTED[version], version);
  }
  t.strictSame(SHIP, before, 'the value itself stays as it is');
  t.equal(formAt(NEWEST, Ship, SHIP), SHIP, 'the newest form costs nothing');
  const plain = Type.Object({ id: Type.String(), members: Type.Array(Type.Object({ id: Type.String() })) });
  t.equal(formAt(FIRST, plain, SHIP), SHIP, 'nor does a resource without newer fields');
});

t.test('the bytes of the newest form hold those of the older ones', async (t) => {
  const bytes = markedJson(Ship, SHIP);
  t.strictSame(JSON.parse(`${bytes}`), SHIP, 'marks are white space');
  for (const version of [FIRST, MIDDLE, NEWEST] as const) {
    t.strictSame(JSON.parse(`${cutMarked(version, bytes)}`), EXPECTED[version], version);
  }
  const unmarked = Buffer.from(JSON.stringify({ id: 'a\tb' }));
  t.equal(cutMarked(FIRST, unmarked), unmarked, 'what has no marks is passed on as it is');
  t.strictSame(`${markedJson(Ship, { id: 's', object: 'ship' })}`, '{"id":"s","object":"ship"}');
  const whole = markedWithin(['{"ship":', '}'], Ship, SHIP, { since: NEWEST, hasOwnIds: true });
  t.strictSame(JSON.parse(`${whole}`), { ship: SHIP });
  t.equal(cutMarked(MIDDLE, whole), undefined, 'what is newer as a whole is nothing');
});

t.test('a text longer than the collected bytes have room for, and one behind a failed one', async (t) => {
  const log = { entry: 'Fähre 🚢'.repeat(50_000) };
  t.strictSame(JSON.parse(`${markedJson(Ship, { ...SHIP, log })}`), { ...SHIP, log });
  t.throws(() => markedJson(Ship, { ...SHIP, name: 1n }), TypeError);
  t.strictSame(JSON.parse(`${markedJson(Ship, SHIP)}`), SHIP);
});

t.test('marks are taken out of an answer, and stay where its values are replaced', async (t) => {
  const bytes = markedJson(Ship, SHIP);
  for (const version of [FIRST, MIDDLE, NEWEST] as const) {
    const text = unmarkedForm(version, bytes);
    t.strictSame(JSON.parse(text), EXPECTED[version], version);
    t.equal(text, JSON.stringify(JSON.parse(text)), 'no white space remains');
  }
  const renamed = { ...SHIP, name: 'Dory', first: null, deck: [{ ...crate('9'), seal: null }] };
  const replaced = Buffer.from(markedLike(bytes, renamed));
  t.strictSame(JSON.parse(unmarkedForm(NEWEST, replaced)), renamed);
  for (const version of [FIRST, MIDDLE] as const) {
    const expected = { ...EXPECTED[version], first: null };
    t.strictSame(JSON.parse(unmarkedForm(version, replaced)), expected, version);
  }

  const later = Buffer.from('{"id":"s"\t         ,"sails":2\t}');
  t.equal(unmarkedForm(NEWEST, later), '{"id":"s"}', 'a field of a version that this node does not know');
  const kept = markedLike(later, { id: 's', sails: 3 });
  t.equal(kept, '{"id":"s"\t         ,"sails":3\t}', 'whose mark stays as well');
  t.equal(markedLike(Buffer.from('{"id":"s"}'), { id: 't' }), '{"id":"t"}', 'bytes without marks');
});

t.test('a value that is newer than its field is null in older versions', async (t) => {
  const Flag = Type.Object({
    object: Type.Literal('flag'),
    type: Type.String(),
    url: NullBefore({ version: NEWEST, unless: 'type', is: 'own' }, Nullable(Type.String())),
    mast: Type.Integer(),
  });
  const Fleet = Type.Object({
    object: Type.Literal('fleet'),
    flags: Type.Array(Flag),
    lead: Nullable(Flag),
    spare: Since(NEWEST, Nullable(Flag)),
  });
  const flag = (type: string, url: string | null) => ({ object: 'flag', type, url, mast: 1 });
  const own = flag('own', 'a:1');
  const whole = {
    object: 'fleet',
    flags: [own, flag('other', 'a:\t"2" '), flag('other', null)],
    lead: flag('other', 'a:3'),
    spare: flag('other', 'a:4'),
  };
  const older = {
    object: 'fleet',
    flags: [own, flag('other', null), flag('other', null)],
    lead: flag('other', null),
  };
  const check = (bytes: Buffer, expected: object, wholly: object) => {
    for (const version of [FIRST, MIDDLE] as const) {
      t.strictSame(JSON.parse(`${cutMarked(version, bytes)}`), expected, version);
      t.strictSame(JSON.parse(unmarkedForm(version, bytes)), expected, `${version}, without marks`);
    }
    t.strictSame(JSON.parse(`${bytes}`), wholly, 'the newest form');
    const text = unmarkedForm(NEWEST, bytes);
    t.equal(text, JSON.stringify(JSON.parse(text)), 'no white space remains');
  };
  t.strictSame(JSON.parse(JSON.stringify(formAt(MIDDLE, Fleet, whole))), older);
  t.equal(formAt(NEWEST, Fleet, whole), whole);
  const bytes = markedJson(Fleet, whole);
  check(bytes, older, whole);
  const replaced = { ...whole, lead: flag('other', 'b:3') };
  check(Buffer.from(markedLike(bytes, replaced)), older, replaced);
  const emptied = { ...whole, lead: flag('other', null) };
  check(Buffer.from(markedLike(bytes, emptied)), older, emptied);
});

t.test('readers of one version share one derived form', async (t) => {
  const frame = toFrame({
    event: 'conversation.updated',
    stream: 'cnv_1',
    conversationId: 'cnv_1',
    sequence: 0,
    resource: 'cnv_1',
    at: '2026-01-01T00:00:00.000000Z',
    team: { id: 'cnv_1' },
    customer: undefined,
  });
  const marked = { ...frame, team: markedJson(Ship, SHIP) };
  const reader = { audience: 'team', version: MIDDLE, hidden: [] } as const;
  t.equal(
    bytesFor(marked, { ...reader, version: NEWEST }),
    marked.team,
    'the newest form is the frame itself',
  );
  const derived = bytesFor(marked, reader);
  t.strictSame(JSON.parse(`${derived}`), EXPECTED[MIDDLE]);
  t.equal(bytesFor(marked, reader), derived);
  t.equal(bytesFor(marked, { ...reader, audience: 'customer' }), undefined);
});

t.test('a field of a request is unknown to older callers', async (t) => {
  const Note = Body({
    title: Type.String(),
    pinned: Since(NEWEST, Type.Boolean()),
    parts: Type.Optional(Type.Array(Body({ text: Type.String(), colour: Since(NEWEST, Type.String()) }))),
  });
  const read = (version: typeof MIDDLE | typeof NEWEST, value: unknown) =>
    compile(schemaAt(version, Note))(value);
  const whole = { title: 'a', pinned: true, parts: [{ text: 'b', colour: 'red' }] };
  t.strictSame(read(NEWEST, structuredClone(whole)), whole);
  t.equal(
    refusal(() => read(MIDDLE, structuredClone(whole))),
    'validation_failed pinned',
  );
  const { pinned: _, ...rest } = whole;
  t.equal(
    refusal(() => read(MIDDLE, rest)),
    'validation_failed parts[0].colour',
  );
  t.equal(
    refusal(() => read(NEWEST, { ...whole, pinned: 1 })),
    'invalid_format pinned',
  );

  const Query = Body({ q: Type.Optional(Type.String()), unread: Since(NEWEST, Type.Boolean()) });
  t.strictSame(compileQuery(schemaAt(NEWEST, Query))({ unread: 'true' }), { unread: true });
  const older = compileQuery(schemaAt(MIDDLE, Query));
  t.equal(
    refusal(() => older({ unread: 'true' })),
    'parameter_unknown unread',
  );

  const Selection = Body({ 'include[]': Include(['deck', 'crew'], { crew: NEWEST }) });
  const included = { 'include[]': ['deck', 'crew'] };
  t.strictSame(compileQuery(schemaAt(NEWEST, Selection))(structuredClone(included)), included);
  t.equal(
    refusal(() => compileQuery(schemaAt(MIDDLE, Selection))(structuredClone(included))),
    'parameter_invalid include[]',
    'a member of a closed set may be newer than the others',
  );

  const since = { [MEMBERS_SINCE]: { crew: NEWEST } };
  const Each = Type.Array(Type.Union([Type.Literal('deck'), Type.Literal('crew')]), {
    maxItems: 2,
    ...since,
  });
  t.match(schemaAt(MIDDLE, Each), { maxItems: 1 }, 'a list that has each member once is shorter');
  t.match(schemaAt(NEWEST, Each), { maxItems: 2 });

  const Plain = Body({ title: Type.String() });
  t.equal(schemaAt(FIRST, Plain), Plain, 'versions share what is the same');
});

t.test('documents state the version of a new field', async (t) => {
  const components = new SchemaComponents();
  components.convert(Ship as SchemaObject);
  const { ship, crate } = components.toJSON();
  t.match(crate!.properties!.seal, {
    type: ['string', 'null'],
    'x-since': NEWEST,
    description: /Since version/,
  });
  const { items } = components.convert(Include(['deck', 'crew'], { crew: NEWEST }) as SchemaObject);
  t.match(items, { enum: ['deck', 'crew'], description: `\`crew\` since version \`${NEWEST}\`.` });
  t.strictSame(crate!.required, ['id', 'object'], 'it is not promised to everybody');
  t.match(ship!.properties!.deck, { type: 'array', 'x-since': NEWEST });
  t.match(ship!.properties!.first, { anyOf: [{ $ref: '#/components/schemas/crate' }, { type: 'null' }] });
});

const { routes } = await borrowTestApp(t);
/** The schemas of all answers, events and frames, each with its name. */
const schemas: [string, TSchema][] = [
  ...routes.map(({ name, response }): [string, TSchema] => [name, response]),
  ...Object.entries(EVENT_DATA).map(([event, { data }]): [string, TSchema] => [event, data]),
  ...Object.entries(SERVER_FRAMES),
];

/**
 * Members of enumerations that an older version may meet all the same, each with the reason.
 * Filters and bodies are no answers: there a newer member is refused.
 */
const NO_MESSAGE = 'Confirmations and invitations have no message and no conversation, so these show none.';
const MET_BY_OLDER: Readonly<Record<string, string>> = {
  'get_conversation_email confirmation': NO_MESSAGE,
  'get_conversation_email invitation': NO_MESSAGE,
  'get_message_email confirmation': NO_MESSAGE,
  'get_message_email invitation': NO_MESSAGE,
  'resend_message_email confirmation': NO_MESSAGE,
  'resend_message_email invitation': NO_MESSAGE,
};

t.test('no answer or event has a member that is newer than its version', async (t) => {
  const met = schemas.flatMap(([name, schema]) =>
    [...partsOf(schema)].flatMap((part) => {
      const { [MEMBERS_SINCE]: since = {} } = part as { readonly [MEMBERS_SINCE]?: object };
      return Object.keys(since).map((member) => `${name} ${member}`);
    }),
  );
  t.strictSame([...new Set(met)].sort(), Object.keys(MET_BY_OLDER).sort());
});

t.test('every schema of the service can be brought into older forms', async (t) => {
  const hidden: string[] = [];
  for (const [name, schema] of schemas) {
    shapeOf(schema);
    for (const part of partsOf(schema)) {
      if (isMention(part)) mentioned(part);
      const { patternProperties, additionalProperties, allOf } = part as Readonly<Record<string, unknown>>;
      const unseen = JSON.stringify([patternProperties, additionalProperties, allOf]);
      if (unseen.includes('x-since')) hidden.push(name);
    }
  }
  t.strictSame(hidden, [], 'no newer field is where forms do not look');
});

t.test('the changelog names the day from which a former name may be refused, 180 days before', async (t) => {
  const changelog = await readFile(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
  t.strictSame(Object.keys(DEPRECATIONS), [...FORMER_NAMES.keys()]);
  for (const [name, { since, sunset }] of Object.entries(DEPRECATIONS)) {
    t.ok(Date.parse(sunset) >= Date.parse(since) + 180 * 86_400_000, name);
    t.match(changelog, sunset, name);
  }
});

function refusal(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return `${error.condition} ${error.param}`;
  }
}

function* partsOf(schema: object): Iterable<object> {
  yield schema;
  for (const value of Object.values(schema)) {
    if (typeof value === 'object' && value !== null) yield* partsOf(value);
  }
}
