import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import type { Document } from '../documents.ts';
import type { SchemaObject } from '../openapi/schemas.ts';
import { command, type Html, html, prose } from './html.ts';
import { pageOf } from './page.ts';
import { contentsGroup, referenceColumns } from './reference-columns.ts';
import { type Endpoint, methodOf, type OperationObject, operationSection } from './reference-operation.ts';
import { fieldEntry, fieldList, schemaAnchor } from './reference-schema.ts';

export interface ReferenceDocument {
  readonly info: { readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, SchemaObject>>;
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>;
  };
}

interface SecurityScheme {
  /** The name of the header, if it is not Authorization. */
  readonly name?: string;
  readonly description: string;
}

/** Returns every endpoint and resource of the OpenAPI document, readable without a script. */
export function referencePage(document: ReferenceDocument): Document {
  const endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Endpoint => ({ path, method, operation })),
  );
  const chapters = document.tags.map((tag) => ({
    ...tag,
    anchor: `tag-${tag.name.toLowerCase().replaceAll(' ', '-')}`,
    endpoints: endpoints.filter(({ operation }) => operation.tags.includes(tag.name)),
  }));
  const { schemas, securitySchemes } = document.components;
  const resources = Object.entries(schemas).filter(([name]) => !name.endsWith('_list'));
  return pageOf('reference', {
    styles: ['reference.css'],
    scripts: ['reference.js', 'copy.js'],
    main: html`<h1>API reference</h1>
${referenceColumns({
  names: 'Endpoints',
  find: 'Find an endpoint',
  example: 'send message',
  contents: html`${chapters.map(({ anchor, name, endpoints: own }) =>
    contentsGroup(anchor, name, own.map(placeOf)),
  )}
<p><a href="#resources">Resources</a></p>`,
  text: html`${document.info.description.split('\n').map((line) => html`<p>${prose(line)}</p>`)}
<dl class="fields">
${Object.values(securitySchemes).map(({ name = 'Authorization', description }) =>
  fieldEntry(name, { type: 'string', description }, ['header']),
)}
</dl>
<p>The same contract for machines: <a href="/v1/openapi.json">openapi.json</a> for all versions,
<a href="/v1/openapi.json?version=${CURRENT_VERSION}">openapi.json?version=${CURRENT_VERSION}</a> for that one alone, and
<a href="/v1/asyncapi.json">asyncapi.json</a> for the socket. The commands below use these variables; version
<code>${CURRENT_VERSION}</code> is the current one.</p>
${command('export PARLEY_URL=http://localhost:8080\nexport PARLEY_KEY=parley_…\nexport PARLEY_ACCOUNT=acc_…')}
${chapters.map(
  ({
    anchor,
    name,
    description,
    endpoints: own,
  }) => html`<section class="chapter" aria-labelledby="${anchor}">
<h2 id="${anchor}">${name}</h2>
<p>${prose(description)}</p>
${own.map(operationSection)}
</section>`,
)}
<section aria-labelledby="resources">
<h2 id="resources">Resources</h2>
<p>What answers are made of. Lists have the resources in <code>data</code>, and links to other pages in
<code>page_info</code>.</p>
${resources.map(([name, schema]) => resource(name, schema))}
${Object.keys(schemas)
  .filter((name) => name.endsWith('_list'))
  .slice(0, 1)
  .map((name) => resource('list', schemas[name]!))}
</section>`,
})}`,
  });
}

function placeOf({ method, operation: { operationId } }: Endpoint): { anchor: string; name: Html } {
  return { anchor: operationId, name: html`${methodOf(method)} ${operationId.replaceAll('_', ' ')}` };
}

function resource(name: string, schema: SchemaObject): Html {
  return html`<details class="operation" id="${schemaAnchor(name)}">
<summary><h3><code>${name}</code></h3></summary>
<div class="content">
${fieldList(schema)}
</div>
</details>`;
}
