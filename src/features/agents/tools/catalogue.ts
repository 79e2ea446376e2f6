import { hasWords } from '@parley/protocol/folding.ts';
import {
  type AvailableTool,
  BUILT_IN_SINCE,
  BUILT_IN_TOOLS,
  type BuiltInTool,
} from '@parley/protocol/resources/available-tool.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import { covers, VERSIONS, type Version } from '@parley/protocol/versions.ts';
import { type EndpointFacts, endpointTools } from '../../../core/endpoint-tools/endpoint-facts.ts';
import { BUILT_IN_TOOL_FACTS } from './built-in-definitions.ts';

/**
 * The tools that agents can be given: the built-in tools, and one for each endpoint that is open to
 * agents (docs/contract.md#limits-of-agents) and returns no secret, which would stay in the calling
 * run. The route table is read at first use, because it is complete only when every slice, this one
 * included, has made its routes.
 */
export class ToolCatalogue {
  readonly #routes: () => readonly EndpointFacts[];
  #endpoints: ReadonlyMap<string, EndpointFacts> | undefined;
  #bySlug: ReadonlyMap<string, AvailableTool> | undefined;

  constructor(routes: () => readonly EndpointFacts[]) {
    this.#routes = routes;
  }

  /** Returns the endpoints of endpoint tools, sorted by slug: `send_message` is `send-message`. */
  get endpoints(): ReadonlyMap<string, EndpointFacts> {
    this.#endpoints ??= endpointTools(this.#routes());
    return this.#endpoints;
  }

  /**
   * Returns the tools of a version in the order of slugs, by words of slug, name or description.
   */
  find(
    version: Version,
    category: AvailableTool['category'] | undefined,
    q: string | null,
  ): readonly AvailableTool[] {
    return [...this.#tools.values()].filter(
      (tool) =>
        covers(version, BUILT_IN_SINCE[tool.slug as BuiltInTool] ?? VERSIONS[0]) &&
        (category === undefined || tool.category === category) &&
        [tool.slug, tool.name, tool.description].some((shown) => hasWords(shown, q ?? '')),
    );
  }

  builtIn(tool: BuiltInTool): AvailableTool {
    return this.#tools.get(tool)!;
  }

  get #tools(): ReadonlyMap<string, AvailableTool> {
    this.#bySlug ??= toolsOf(this.endpoints);
    return this.#bySlug;
  }
}

function toolsOf(endpoints: ReadonlyMap<string, EndpointFacts>): ReadonlyMap<string, AvailableTool> {
  const tools = [...BUILT_IN_TOOLS.map(builtInTool), ...[...endpoints].map(endpointTool)];
  return new Map(tools.sort((a, b) => (a.slug < b.slug ? -1 : 1)).map((tool) => [tool.slug, tool]));
}

function builtInTool(slug: BuiltInTool): AvailableTool {
  const { name, description, mutating, configSchema } = BUILT_IN_TOOL_FACTS[slug];
  return {
    id: idOf(slug),
    object: 'available_tool',
    slug,
    name,
    description,
    category: 'built_in',
    mutating,
    config_schema: asJson(configSchema),
  };
}

/** Returns an endpoint's tool: the operation `send_message` is named "Send message". */
function endpointTool([slug, { name, method, summary }]: readonly [string, EndpointFacts]): AvailableTool {
  const words = name.replaceAll('_', ' ');
  return {
    id: idOf(slug),
    object: 'available_tool',
    slug,
    name: `${words[0]?.toUpperCase()}${words.slice(1)}`,
    description: summary,
    category: 'api_endpoint',
    mutating: method !== 'GET',
    config_schema: NO_CONFIG,
  };
}

/** Returns an id derived from the slug, which never changes: tools are in no table. */
function idOf(slug: string): string {
  return `tool_${slug}`;
}

/** Removes the schema library's own additions to a schema. */
function asJson(schema: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema));
}

const NO_CONFIG = asJson(Body({}));
