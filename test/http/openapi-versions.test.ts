/** The API document of one version: what its callers know, and what they always get. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SINCE, sinceOf } from '@parley/protocol/schema/since.ts';
import { covers, FORMER_NAMES, VERSIONS, type Version } from '@parley/protocol/versions.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { nameOf, type SchemaObject } from '../../src/api/documents/openapi/schemas.ts';
import { freshDirectory, ROOT, runProgram } from '../start/parley.ts';
import { borrowTestApp, type Refusal } from '../support/app.ts';
import type { OpenApi } from './shapes.ts';

type Document = OpenApi & { readonly info: { readonly version: string } };

const app = await borrowTestApp(t);
const whole = (await read('')).body as Document;

t.test('it has what its callers know, and requires of answers what is always there', async (t) => {
  for (const version of VERSIONS) {
    const { body } = await read(`?version=${version}`);
    const { info, paths, components } = body as Document;
    t.equal(info.version, version);
    t.match(JSON.stringify(body), `"x-values":["${version}"]`, 'the header takes this version alone');
    const newer = VERSIONS.filter((one) => !covers(version, one)).map((one) => `"${SINCE}":"${one}"`);
    t.strictSame(
      newer.filter((mark) => JSON.stringify(body).includes(mark)),
      [],
      `${version}: nothing newer`,
    );
    t.strictSame(operationsOf(paths), operationsOf(whole.paths, version), `${version}: its operations`);
    const names = answered(body as Document);
    t.ok(names.size > 10);
    for (const name of names) {
      const [shown, known] = [components.schemas[name]!, whole.components.schemas[name]!];
      const expected = Object.entries(known.properties ?? {}).flatMap(([field, schema]) => {
        const since = sinceOf(schema);
        const isThere = since === undefined ? known.required?.includes(field) : covers(version, since);
        return isThere === true ? field : [];
      });
      t.strictSame([...(shown.required ?? [])].sort(), expected.sort(), `${version}: ${name}`);
    }
  }
});

t.test('an answer has the fields that it requires', async (t) => {
  const path = `/v1/messaging/conversations/${app.demo.conversations.group}`;
  for (const version of VERSIONS.slice(1)) {
    const { components } = (await read(`?version=${version}`)).body as Document;
    const { body } = await app.call<object>('GET', path, { headers: { 'Service-Version': version } });
    t.strictSame(Object.keys(body).sort(), [...components.schemas.conversation!.required!].sort(), version);
  }
});

t.test('a former name is the version that it names, and another one is refused', async (t) => {
  for (const [name, version] of FORMER_NAMES) {
    t.strictSame((await read(`?version=${name}`)).body, (await read(`?version=${version}`)).body);
  }
  for (const [text, code] of [
    ['9.9.harbor', 'api_version_invalid'],
    ['', 'api_version_required'],
  ]) {
    const { status, body } = await read(`?version=${text}`);
    t.match([status, (body as Refusal).error], [400, { code, param: 'version' }]);
  }
});

t.test('the body of Send Message may have a null mode, as at the server', async (t) => {
  for (const version of VERSIONS) {
    const { paths, components } = (await read(`?version=${version}`)).body as Document;
    const { requestBody } = paths['/v1/messaging/conversations/{id}/messages']!.post!;
    const { schema } = requestBody!.content['application/json']!;
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const check = ajv.compile({ ...schema, components });
    const body = { body: 'ahoy', mode: null, client_message_id: 'one' };
    t.equal(check(body), true, version);
    t.equal(check({ ...body, client_message_id: undefined }), false, 'nothing is left of its conditions');
    t.equal(check({ body: 'ahoy', mode: null, channel: 'message' }), false);
  }
});

t.test('the linter of OpenAPI reports nothing about the oldest one', async (t) => {
  const file = join(freshDirectory(t), 'openapi.json');
  writeFileSync(file, JSON.stringify((await read(`?version=${VERSIONS[0]}`)).body));
  const cli = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js');
  const config = ['--config', join(ROOT, 'redocly.yaml'), '--format', 'json'];
  const { stdout } = await runProgram(process.execPath, [cli, 'lint', file, ...config], {
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  });
  t.strictSame(JSON.parse(stdout).problems, []);
});

async function read(query: string): Promise<{ readonly status: number; readonly body: unknown }> {
  const answer = await fetch(`${app.baseUrl}/v1/openapi.json${query}`);
  return { status: answer.status, body: await answer.json() };
}

/** Returns the names of the operations with a version, up to `version`. */
function operationsOf(paths: OpenApi['paths'], version?: Version): string[] {
  return Object.values(paths)
    .flatMap((methods) => Object.values(methods) as { readonly operationId?: string }[])
    .filter((operation) => {
      const since = sinceOf(operation);
      return since !== undefined && (version === undefined || covers(version, since));
    })
    .map(({ operationId }) => operationId!);
}

/** Returns the names of the schemas that successful answers refer to, at any depth. */
function answered({ paths, components }: Document): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { $ref } = value as SchemaObject;
    if (typeof $ref === 'string' && !names.has(nameOf($ref)) && nameOf($ref) in components.schemas) {
      names.add(nameOf($ref));
      visit(components.schemas[nameOf($ref)]);
    }
    Object.values(value).forEach(visit);
  };
  for (const { responses } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, { content }] of Object.entries(responses)) {
      if (status < '300') visit(content?.['application/json']);
    }
  }
  return names;
}
