import {
  type AvailableTool,
  BUILT_IN_TOOLS,
  type BuiltInTool,
  toolSlugOf,
} from '../../protocol/resources/available-tool.ts';
import { Body } from '../../protocol/schema.ts';
import { BUILT_IN_TOOL_FACTS } from './built-in-definitions.ts';

/** What an endpoint says of itself, as far as a tool shows it or calls it by it (http/route.ts). */
export interface EndpointFacts {
  readonly name: string;
  readonly method: string;
  /** With `:name` for parameters. */
  readonly path: string;
  readonly summary: string;
  /** Null: any valid credential will do. */
  readonly permission: string | null;
  readonly agents?: boolean;
  readonly secret?: boolean;
  /** JSON Schema of an object, array parameters named with `[]`. */
  readonly query?: object;
  /** JSON Schema of an object. */
  readonly body?: object;
}

export interface ToolFilters {
  readonly category?: AvailableTool['category'] | undefined;
  readonly q: string | null;
}

/**
 * What agents can be given: the built-in tools, and one tool for each endpoint that is open to agents
 * (docs/contract.md#limits-of-agents) and shows no secret, which would stay in the run that called it,
 * derived from the route table. That table is whole only when every slice has made its routes, this one's among
 * them: it is asked for at first use.
 */
export class ToolCatalogue {
  readonly #routes: () => readonly EndpointFacts[];
  #endpoints: ReadonlyMap<string, EndpointFacts> | undefined;
  #bySlug: ReadonlyMap<string, AvailableTool> | undefined;

  constructor(routes: () => readonly EndpointFacts[]) {
    this.#routes = routes;
  }

  /** What the endpoint tools call, by their slugs and in their order: `send_message` is `send-message`. */
  get endpoints(): ReadonlyMap<string, EndpointFacts> {
    this.#endpoints ??= new Map(
      this.#routes()
        .flatMap((facts) => {
          const slug = toolSlugOf(facts);
          return slug === undefined ? [] : [[slug, facts] as const];
        })
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    return this.#endpoints;
  }

  /** In the order of the slugs' characters. `q` is looked for in slug, name and description, case ignored. */
  find({ category, q }: ToolFilters): readonly AvailableTool[] {
    const text = q?.toLowerCase() ?? '';
    return [...this.#tools.values()].filter(
      (tool) =>
        (category === undefined || tool.category === category) &&
        [tool.slug, tool.name, tool.description].some((shown) => shown.toLowerCase().includes(text)),
    );
  }

  builtIn(tool: BuiltInTool): AvailableTool {
    return this.#tools.get(tool)!;
  }

  /** Whether `endpoint_tool_slugs` may name it. */
  hasEndpointTool(slug: string): boolean {
    return this.endpoints.has(slug);
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

/** `send_message` is called "Send message". */
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

/** The tools are in no table: what names one for ever is its slug. */
function idOf(slug: string): string {
  return `tool_${slug}`;
}

/** Without what the schema library keeps beside the schema. */
function asJson(schema: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(schema));
}

const NO_CONFIG = asJson(Body({}));
