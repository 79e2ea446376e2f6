/**
 * The words of the administration: each field of its forms has its own, none are those of the API.
 */

import './english.ts';
import { join } from 'node:path';
import { type JsonSchema, withoutNull } from '@parley/ui/form/json-schema.ts';
import type { Shape } from '@parley/ui/form/shape.ts';
import { shapeOf } from '@parley/ui/form/shape.ts';
import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import { readTree } from '../../../test/support/house.ts';
import { ApiDocument, type OpenApi, type Operation } from '../administration/api-document.ts';
import { type FieldTexts, worded } from '../administration/field-texts.ts';
import { AGENT_TEXTS, START_TEXTS } from '../administration/texts/agent-texts.ts';
import {
  CARD_SOURCE_TEXTS,
  INBOX_TEXTS,
  PUSH_APP_TEXTS,
  REPLAY_TEXTS,
  WEBHOOK_TEXTS,
  WIDGET_TEXTS,
} from '../administration/texts/channel-texts.ts';
import { ACCOUNT_TEXTS, IMPORT_TEXTS, RETENTION_TEXTS } from '../administration/texts/data-texts.ts';
import {
  CLAIM_TEXTS,
  CUSTOMER_TEXTS,
  ERASE_TEXTS,
  GROUP_TEXTS,
  KEY_TEXTS,
  PERSON_TEXTS,
  PROVIDER_TEXTS,
  ROLE_TEXTS,
} from '../administration/texts/people-texts.ts';
import { texts as german } from '../texts/administration/de.ts';

const app = await borrowTestApp(t);
const api = new ApiDocument((await (await fetch(`${app.baseUrl}/v1/openapi.json`)).json()) as OpenApi);

/** The bodies of the forms that the administration shows, with their texts. */
const FORMS: readonly (readonly [operation: string, texts: FieldTexts])[] = [
  ['create_user', PERSON_TEXTS],
  ['update_user', PERSON_TEXTS],
  ['claim_user', CLAIM_TEXTS],
  ['erase_user', ERASE_TEXTS],
  ['create_role', ROLE_TEXTS],
  ['update_role', ROLE_TEXTS],
  ['create_group', GROUP_TEXTS],
  ['update_group', GROUP_TEXTS],
  ['update_customer', CUSTOMER_TEXTS],
  ['create_api_key', KEY_TEXTS],
  ['create_identity_provider', PROVIDER_TEXTS],
  ['update_identity_provider', PROVIDER_TEXTS],
  ['create_agent', AGENT_TEXTS],
  ['update_agent', AGENT_TEXTS],
  ['trigger_agent_run', START_TEXTS],
  ['create_inbox', INBOX_TEXTS],
  ['update_inbox', INBOX_TEXTS],
  ['create_widget', WIDGET_TEXTS],
  ['update_widget', WIDGET_TEXTS],
  ['create_webhook', WEBHOOK_TEXTS],
  ['update_webhook', WEBHOOK_TEXTS],
  ['replay_webhook', REPLAY_TEXTS],
  ['create_import', IMPORT_TEXTS],
  ['set_retention_policy', RETENTION_TEXTS],
  ['update_account', ACCOUNT_TEXTS],
  ['set_customer_card_source', CARD_SOURCE_TEXTS],
  ['create_push_app', PUSH_APP_TEXTS],
  ['update_push_app', PUSH_APP_TEXTS],
];

/** The file of an import says these itself. */
const UNSHOWN: ReadonlySet<string> = new Set(['create_import size_bytes', 'create_import sha256']);

t.test('each field of a form has a text', async (t) => {
  for (const [operation, texts] of FORMS) {
    const shape = shapeOf(api.operation(operation)!.body!, api.resolve);
    const without = pathsOf(shape).filter(
      (path) => !Object.hasOwn(texts, path) && !UNSHOWN.has(`${operation} ${path}`),
    );
    t.strictSame(without, [], operation);
  }
});

t.test('no text speaks of the API', async (t) => {
  const shown = FORMS.flatMap(([, texts]) =>
    Object.values(texts).map(({ label = '', help = '' }) => `${label} ${help}`),
  );
  const found = shown.filter((text) =>
    /`|\bnull\b|s3|resource_exists|byte for byte|#rrggbb|boolean|endpoint/i.test(text),
  );
  t.strictSame(found, []);
});

t.test('a form has the order, the requirements and the defaults of its texts', async (t) => {
  const shape = worded(shapeOf(api.operation('create_agent')!.body!, api.resolve), AGENT_TEXTS);
  if (shape.kind !== 'group') throw new Error('This is no object.');
  t.strictSame(
    shape.fields.slice(0, 3).map(({ name, required }) => [name, required]),
    [
      ['name', true],
      ['role_id', true],
      ['trigger_type', true],
    ],
  );
  t.equal(shape.fields.find(({ name }) => name === 'external_id')?.isForDevelopers, true);
});

t.test('German has words for each name that the administration shows', async (t) => {
  const modules = [...readTree(join(import.meta.dirname, '../../..'), ['packages/console'])];
  const sections = modules.filter(([path]) => /sections\.tsx?$|audit-head|delivery-log/.test(path));
  const quoted = sections.flatMap(([, code]) => [...code.matchAll(/'([a-z]+(?:_[a-z]+)+)'/g)]);
  const operations = [...new Set(quoted.map(([, id]) => id!))].flatMap((id) => api.operation(id) ?? []);
  t.ok(operations.length > 90);
  const names = new Set(operations.flatMap(namesIn));
  const without = [...names].filter(
    (name) =>
      !Object.hasOwn(german.contract, name) && !Object.hasOwn(german.contract, name.replace(/_(id|at)$/, '')),
  );
  t.strictSame(without.sort(), []);
});

/** Filters that have words elsewhere, or are not shown. */
const NO_FILTERS: ReadonlySet<string> = new Set(['cursor', 'limit', 'q', 'search', 'include[]', 'metadata']);
/** Languages, versions and algorithms. */
const OF_ALL_LANGUAGES = /^[a-z]{2}$|^\d|^[A-Z]+/;

/**
 * Returns the names of the fields that an operation answers with, of its filters, and of members.
 */
function namesIn(operation: Operation): string[] {
  const { answer, body = {}, query } = operation;
  const item = api.itemOf(operation);
  const filters = query.filter(({ name }) => !NO_FILTERS.has(name));
  const fields = [Object.keys(item).length > 0 ? item : answer, ...filters.map(({ schema }) => schema)];
  const names = fields.flatMap((schema) =>
    fieldsIn(schema).flatMap(({ name, members }) => [name, ...members]),
  );
  const asked = fieldsIn(body).flatMap(({ members }) => members);
  return [...names, ...filters.map(({ name }) => name.replace('[]', '')), ...asked].filter(
    (name) => name !== '' && name !== 'object' && !OF_ALL_LANGUAGES.test(name),
  );
}

interface NamedField {
  readonly name: string;
  /** The words of an enumeration: areas and actions apart. */
  readonly members: readonly string[];
}

function fieldsIn(schema: JsonSchema, name = '', depth = 0): NamedField[] {
  const { schema: one } = withoutNull(schema, api.resolve);
  const words = (one.enum ?? []).filter((member) => !OF_ALL_LANGUAGES.test(String(member)));
  const members = words.flatMap((member) => (typeof member === 'string' ? member.split(/[.:]/) : []));
  const parts = Object.entries(one.properties ?? {}).flatMap(([part, inner]) =>
    depth < 6 ? fieldsIn(inner, part, depth + 1) : [],
  );
  return [
    { name, members },
    ...parts,
    ...(one.items === undefined ? [] : fieldsIn(one.items, '', depth + 1)),
  ];
}

function pathsOf(shape: Shape, path = ''): string[] {
  if (shape.kind === 'items' || shape.kind === 'map') return pathsOf(shape.item, path);
  if (shape.kind !== 'group') return [];
  return shape.fields.flatMap(({ name, shape: part }) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [at, ...pathsOf(part, at)];
  });
}
