import type { JSONObject, Tool } from '@modelcontextprotocol/server';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Permission } from '@parley/protocol/permissions.ts';
import { answerAt } from '@parley/protocol/schema/since.ts';
import { nearestName } from '@parley/protocol/validation/nearest-name.ts';
import { versionFor } from '@parley/protocol/versions.ts';
import { hasPermission } from '../../api/access/authorize.ts';
import type { Principal } from '../../api/access/principal.ts';
import { parametersOf, plain } from '../../core/endpoint-tools/endpoint-call.ts';
import { type EndpointFacts, endpointTools, isRead } from '../../core/endpoint-tools/endpoint-facts.ts';
import { DEFAULT_TOOLS, type DefaultTool } from './default-tools.ts';
import { outline } from './outline.ts';

/** A tool of an endpoint, as MCP clients see it. */
export interface EndpointTool {
  readonly facts: EndpointFacts;
  readonly shown: Tool;
  readonly isTeams: boolean;
  readonly fixed: DefaultTool['fixed'];
}

/**
 * The tools of this node: the catalogue that agents have too (core/endpoint-tools), and what is
 * offered by default, of which some endpoints are open to people alone. The route table is read at
 * first use, because it is complete only when every feature has joined.
 */
export class ToolSet {
  readonly #routes: () => readonly EndpointFacts[];
  #defaults: readonly EndpointTool[] | undefined;
  #all: ReadonlyMap<string, EndpointTool> | undefined;

  constructor(routes: () => readonly EndpointFacts[]) {
    this.#routes = routes;
  }

  /**
   * Returns the tools that the caller may use, by their names. `wanted` is `all`, or names between
   * commas; by default there are few. Throws ApiError `parameter_invalid` for a name that does not
   * exist.
   */
  for(principal: Principal, wanted: string | null): ReadonlyMap<string, EndpointTool> {
    return new Map(
      this.#wanted(wanted)
        .filter((tool) => mayUse(principal, tool))
        .map((tool) => [tool.shown.name, tool]),
    );
  }

  #wanted(wanted: string | null): readonly EndpointTool[] {
    this.#defaults ??= defaultTools(this.#routes());
    if (wanted === null) return this.#defaults;
    this.#all ??= allTools(this.#defaults, this.#routes());
    const all = this.#all;
    if (wanted === 'all') return [...all.values()];
    return wanted.split(',').map((name) => all.get(name) ?? noSuchTool(name, [...all.keys()]));
  }
}

/** Endpoints of features that this build lacks are left out. */
function defaultTools(routes: readonly EndpointFacts[]): EndpointTool[] {
  const byName = new Map(routes.map((facts) => [facts.name, facts]));
  return DEFAULT_TOOLS.flatMap((tool) => {
    const facts = byName.get(tool.endpoint);
    return facts === undefined ? [] : [toolOf(facts, tool)];
  });
}

function allTools(
  defaults: readonly EndpointTool[],
  routes: readonly EndpointFacts[],
): ReadonlyMap<string, EndpointTool> {
  const all = new Map(defaults.map((tool) => [tool.shown.name, tool]));
  for (const [slug, facts] of endpointTools(routes)) if (!all.has(slug)) all.set(slug, toolOf(facts));
  return all;
}

function noSuchTool(name: string, names: readonly string[]): never {
  const meant = nearestName(name.replaceAll('_', '-'), names);
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  throw new ApiError('parameter_invalid', `There is no tool ${name.slice(0, 100)}.${hint}`, {
    param: 'tools',
  });
}

/** Returns whether the pipeline would let the caller through: it decides, this is for the list. */
function mayUse(principal: Principal, { facts, isTeams }: EndpointTool): boolean {
  const { agents, customers, permission, own } = facts;
  if (principal.customer) return customers === true && !isTeams;
  if (agents === false && principal.actor.type === 'agent') return false;
  if (permission === null) return true;
  const sufficient = own === undefined ? [permission] : [permission, own.permission];
  return sufficient.some((one) => hasPermission(principal, one as Permission));
}

function toolOf(
  facts: EndpointFacts,
  { name, use, isTeams, fixed }: Partial<DefaultTool> = {},
): EndpointTool {
  const { method, path, reachesOutside } = facts;
  const title = (name ?? facts.name).replaceAll(/[_-]/g, ' ');
  const shown: Tool = {
    name: name ?? facts.name.replaceAll('_', '-'),
    title: `${title[0]?.toUpperCase()}${title.slice(1)}`,
    description: [`${facts.summary}.`, use, `(${method} ${path})`].filter(Boolean).join(' '),
    inputSchema: inputOf(facts, fixed),
    ...(facts.response !== undefined && { outputSchema: outputOf(facts) }),
    annotations: {
      readOnlyHint: isRead(facts),
      destructiveHint: method === 'DELETE',
      idempotentHint: isRead(facts) || method === 'PUT' || method === 'DELETE',
      openWorldHint: reachesOutside !== undefined,
    },
  };
  return { facts, shown, isTeams: isTeams === true, fixed };
}

interface ObjectSchema {
  readonly type: 'object';
  readonly properties?: Readonly<Record<string, ObjectSchema>>;
  readonly required?: readonly string[];
}

/** Fixed fields are shown as constants, so that rules which depend on them stay true. */
function inputOf(facts: EndpointFacts, fixed: DefaultTool['fixed']): Tool['inputSchema'] {
  const input = parametersOf(facts) as unknown as ObjectSchema;
  const body = input.properties?.body;
  if (fixed === undefined || body === undefined) return input as unknown as Tool['inputSchema'];
  const constants = Object.entries(fixed).map(([name, value]) => [name, { type: 'string', const: value }]);
  const required = [...new Set([...(body.required ?? []), ...Object.keys(fixed)])];
  const properties: object = { ...body.properties, ...Object.fromEntries(constants) };
  const bodies = { ...input.properties, body: { ...body, properties, required } };
  const withBody = [...new Set([...(input.required ?? []), 'body'])];
  return { ...input, properties: bodies, required: withBody } as unknown as Tool['inputSchema'];
}

function outputOf({ since, response }: EndpointFacts): JSONObject {
  return outline(plain(answerAt(versionFor(since), response!))) as JSONObject;
}
