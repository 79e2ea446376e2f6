import { type AvailableTool, BUILT_IN_TOOLS, type BuiltInTool } from '../protocol/available-tool.ts';
import { Body } from '../protocol/schema.ts';
import { BUILT_IN_TOOL_FACTS } from './built-in-tools.ts';

/** What an endpoint says of itself, as far as a tool shows it (http/route.ts). */
export interface EndpointFacts {
  readonly name: string;
  readonly method: string;
  readonly summary: string;
  readonly agents?: boolean;
}

export interface ToolFilters {
  readonly category?: AvailableTool['category'] | undefined;
  readonly q: string | null;
}

/**
 * What agents can be given: the built-in tools, and one tool for each endpoint that is open to agents
 * (design.md sections 1 and 7, agents' limits), derived from the route table. That table is whole only when
 * every slice has made its routes, this one's among them: it is asked for at first use.
 */
export class ToolCatalogue {
  readonly #endpoints: () => readonly EndpointFacts[];
  #bySlug: ReadonlyMap<string, AvailableTool> | undefined;

  constructor(endpoints: () => readonly EndpointFacts[]) {
    this.#endpoints = endpoints;
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
    return this.#tools.get(slug)?.category === 'api_endpoint';
  }

  get #tools(): ReadonlyMap<string, AvailableTool> {
    this.#bySlug ??= toolsOf(this.#endpoints());
    return this.#bySlug;
  }
}

function toolsOf(endpoints: readonly EndpointFacts[]): ReadonlyMap<string, AvailableTool> {
  const open = endpoints.filter(({ agents }) => agents !== false);
  const tools = [...BUILT_IN_TOOLS.map(builtInTool), ...open.map(endpointTool)];
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

/** `send_message` is the tool `send-message`, called "Send message". */
function endpointTool({ name, method, summary }: EndpointFacts): AvailableTool {
  const slug = name.replaceAll('_', '-');
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
