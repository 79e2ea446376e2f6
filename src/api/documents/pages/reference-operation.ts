import { codeOf } from '@parley/protocol/errors/error-envelope.ts';
import { ERRORS, type ErrorCondition } from '@parley/protocol/errors/errors.ts';
import { CURRENT_VERSION, covers, type Version } from '@parley/protocol/versions.ts';
import { statusLine } from '../../../platform/http/connection.ts';
import { nameOf, type SchemaObject } from '../openapi/schemas.ts';
import { command, type Html, html, prose } from './html.ts';
import { fieldEntry, fieldList, schemaAnchor } from './reference-schema.ts';

/** The parts of an OpenAPI operation that its page shows. */
export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  /** Absent if the operation requires no version. */
  readonly 'x-since'?: Version;
  /** Absent if the operation requires what most do. */
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly ParameterObject[];
  readonly requestBody?: { readonly required: boolean } & ContentObject;
  readonly responses: Readonly<Record<string, { readonly description: string } & Partial<ContentObject>>>;
}

export interface Endpoint {
  readonly path: string;
  /** In lower case. */
  readonly method: string;
  readonly operation: OperationObject;
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
  /** By media type: JSON, or the bytes of a file. */
  readonly content: Readonly<Record<string, MediaObject>>;
}

interface MediaObject {
  readonly schema: SchemaObject;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, object>>;
}

const JSON_TYPE = 'application/json';

/** Returns one endpoint, collapsed until a reader opens it. */
export function operationSection(endpoint: Endpoint): Html {
  const { path, method, operation } = endpoint;
  const { operationId, summary, description, parameters, requestBody } = operation;
  const own = parameters.filter(({ $ref }) => $ref === undefined);
  const body = requestBody?.content[JSON_TYPE]?.schema;
  return html`<details class="operation" id="${operationId}">
<summary><h3>${methodOf(method)} <code>${path}</code></h3> <span class="title">${summary}</span></summary>
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
${
  // The URLs of files appear as a whole in other answers.
  operation['x-since'] === undefined
    ? ''
    : html`<h4>Request</h4>
${command(curlOf(endpoint, operation['x-since']))}`
}
<h4>Responses</h4>
<dl class="fields">
${Object.entries(operation.responses).map(([status, response]) => responseEntry(status, response.content?.[JSON_TYPE], response.description))}
</dl>
</div>
</details>`;
}

export function methodOf(method: string): Html {
  return html`<span class="method ${method}">${method.toUpperCase()}</span>`;
}

function parameterEntry({ name, in: place, required, description, schema }: ParameterObject): Html {
  const { description: _, ...bare } = schema;
  return fieldEntry(name, { ...bare, description }, [place, ...(required === true ? ['required'] : [])]);
}

function responseEntry(status: string, content: MediaObject | undefined, description: string): Html {
  const conditions = Object.keys(content?.examples ?? {}) as ErrorCondition[];
  const shown =
    conditions.length === 0
      ? content === undefined
        ? description
        : resourceOf(content.schema)
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
  const shown = codeOf(condition);
  const anchor = ERRORS[condition].anchor ?? shown;
  return html`<a href="/docs/api/errors#${anchor}">${shown}</a>`;
}

/** Returns the headers of the first schemes that suffice, beside the version. */
function credentialsOf([required = {}]: NonNullable<OperationObject['security']> = [{ bearer: [] }]) {
  if ('bearer' in required) return ['Authorization: Bearer $PARLEY_KEY', 'Service-Account: $PARLEY_ACCOUNT'];
  return 'operatorKey' in required ? ['Authorization: Bearer $PARLEY_OPERATOR_KEY'] : [];
}

/** Returns the request with the document's examples; shell variables stand for readers' values. */
function curlOf({ path: template, method, operation }: Endpoint, since: Version): string {
  const { parameters, requestBody, security } = operation;
  const examples = new Map(parameters.map(({ name, example }) => [name, example]));
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => String(examples.get(name)));
  const version = covers(CURRENT_VERSION, since) ? CURRENT_VERSION : since;
  const headers = [
    ...credentialsOf(security),
    `Service-Version: ${version}`,
    ...(requestBody === undefined ? [] : ['Content-Type: application/json']),
  ];
  const body = requestBody?.content[JSON_TYPE]?.example;
  const lines = [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"$PARLEY_URL${path}"`,
    ...headers.map((header) => `-H "${header}"`),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
  ];
  return lines.join(' \\\n  ');
}
