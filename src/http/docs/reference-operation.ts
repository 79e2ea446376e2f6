import { codeOf } from '../../protocol/error-envelope.ts';
import { ERRORS, type ErrorCondition } from '../../protocol/errors.ts';
import { CURRENT_VERSION, covers } from '../../protocol/versions.ts';
import { templateOf } from '../openapi-operations.ts';
import { nameOf, type SchemaObject } from '../openapi-schemas.ts';
import type { Route } from '../route.ts';
import { statusLine } from '../status-lines.ts';
import { type Html, html, prose } from './html.ts';
import { fieldEntry, fieldList, schemaAnchor } from './reference-schema.ts';

/** Of an operation of the OpenAPI document what its page shows. */
export interface OperationObject {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly ParameterObject[];
  readonly requestBody?: { readonly required: boolean } & ContentObject;
  readonly responses: Readonly<Record<string, { readonly description: string } & ContentObject>>;
}

interface ParameterObject {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description: string;
  readonly schema: SchemaObject;
  readonly example?: unknown;
}

interface ContentObject {
  readonly content: {
    readonly 'application/json': {
      readonly schema: SchemaObject;
      readonly example?: unknown;
      readonly examples?: Readonly<Record<string, object>>;
    };
  };
}

/** One endpoint, closed until somebody opens it. */
export function operationSection(route: Route, operation: OperationObject): Html {
  const { operationId, summary, description, parameters, requestBody } = operation;
  const own = parameters.filter(({ $ref }) => $ref === undefined);
  const body = requestBody?.content['application/json'].schema;
  return html`<details class="operation" id="${operationId}">
<summary><h3>${methodOf(route)} <code>${templateOf(route.path)}</code></h3> <span class="title">${summary}</span></summary>
<div class="content">
${description.split('\n\n').map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
${
  own.length === 0
    ? ''
    : html`<h4>Parameters</h4>
<dl class="fields">
${own.map(parameterEntry)}
</dl>`
}
${
  body === undefined || (body.oneOf === undefined && Object.keys(body.properties ?? {}).length === 0)
    ? ''
    : html`<h4>Body</h4>
${fieldList(body)}`
}
<h4>Request</h4>
${command(curlOf(route, operation))}
<h4>Responses</h4>
<dl class="fields">
${Object.entries(operation.responses).map(([status, response]) => responseEntry(status, response.content['application/json']))}
</dl>
</div>
</details>`;
}

export function methodOf({ method }: Route): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/** Lines for a terminal, with a button that copies them (reference.js). */
export function command(text: string): Html {
  return html`<div class="command">
<pre tabindex="0"><code>${text}</code></pre>
<button type="button" class="copy" hidden>Copy</button>
</div>`;
}

function parameterEntry({ name, in: place, required, description, schema }: ParameterObject): Html {
  const { description: _, ...bare } = schema;
  return fieldEntry(name, { ...bare, description }, [place, ...(required === true ? ['required'] : [])]);
}

function responseEntry(status: string, content: ContentObject['content']['application/json']): Html {
  const { schema, examples = {} } = content;
  const conditions = Object.keys(examples) as ErrorCondition[];
  const shown =
    conditions.length === 0
      ? resourceOf(schema)
      : html`${conditions.map((condition) => errorLink(condition))}`;
  return html`<div><dt>${statusLine(Number(status))}</dt><dd><p>${shown}</p></dd></div>`;
}

function resourceOf({ $ref }: SchemaObject): Html {
  if ($ref === undefined) return html`A JSON object.`;
  const name = nameOf($ref);
  const item = name.replace(/_list$/, '');
  const link = html`<a href="#${schemaAnchor(item)}">${item}</a>`;
  return item === name ? link : html`<a href="#${schemaAnchor('list')}">list</a> of ${link}`;
}

function errorLink(condition: ErrorCondition): Html {
  const entry = ERRORS[condition];
  const shown = codeOf(condition);
  const anchor = 'anchor' in entry ? entry.anchor : shown;
  return html`<a href="/docs/api/errors#${anchor}">${shown}</a>`;
}

/** The request with the examples of the document; what differs by reader stands in variables. */
function curlOf(route: Route, { parameters, requestBody }: OperationObject): string {
  const examples = new Map(parameters.map(({ name, example }) => [name, example]));
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => String(examples.get(name)));
  const version = covers(CURRENT_VERSION, route.since) ? CURRENT_VERSION : route.since;
  const headers = [
    ...(route.open === true ? [] : ['Authorization: Bearer $PARLEY_KEY', 'Service-Account: $PARLEY_ACCOUNT']),
    `Service-Version: ${version}`,
    ...(requestBody === undefined ? [] : ['Content-Type: application/json']),
  ];
  const body = requestBody?.content['application/json'].example;
  const lines = [
    `curl ${route.method === 'GET' ? '' : `-X ${route.method} `}"$PARLEY_URL${path}"`,
    ...headers.map((header) => `-H "${header}"`),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
  ];
  return lines.join(' \\\n  ');
}
