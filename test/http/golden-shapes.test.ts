/**
 * The fields of every request, answer and event in each stable version, with their types, as the
 * published documents have them: golden/shapes.json. test/support/contract.ts checks the answers of
 * all tests against these documents. A new field, parameter, member or endpoint that is not
 * declared as new in the preview changes a stable version here.
 */

import { VERSIONS } from '@parley/protocol/versions.ts';
import t from 'tap';
import { asyncApiDocument } from '../../src/api/documents/openapi/asyncapi.ts';
import { openApiDocument } from '../../src/api/documents/openapi/openapi.ts';
import { borrowTestApp } from '../support/app.ts';
import { Golden } from './golden.ts';
import { type AsyncApi, type OpenApi, shapesAt } from './shapes.ts';

const { routes } = await borrowTestApp(t);
const rest = openApiDocument({ routes, texts: new Map(), docsUrl: 'https://docs.example' }) as OpenApi;
const socket = asyncApiDocument() as AsyncApi;
const STABLE = VERSIONS.filter((version) => !version.includes('-preview.'));

t.test('the shapes of stable versions do not change', async (t) => {
  const golden = new Golden('shapes');
  for (const version of STABLE) golden.check(t, version, shapesAt(version, rest, socket));
});

t.test('a field that is not declared as new changes them, and one that is does not', async (t) => {
  const plain = { type: 'string' };
  const preview = { ...plain, 'x-since': VERSIONS.at(-1) };
  for (const version of STABLE) {
    const before = shapesAt(version, rest, socket);
    const after = shapesAt(version, withField(rest, plain), withField(socket, plain));
    t.not(JSON.stringify(after), JSON.stringify(before), version);
    const newer = shapesAt(version, withField(rest, preview), withField(socket, preview));
    t.strictSame(newer, before, version);
  }
});

/** Returns the document with a further field of every actor. */
function withField<Document extends OpenApi | AsyncApi>(document: Document, field: object): Document {
  const { actor, ...others } = document.components.schemas;
  const schemas = { ...others, actor: { ...actor, properties: { ...actor?.properties, field } } };
  return { ...document, components: { ...document.components, schemas } };
}
