import { ApiError, invalid, repeated } from '@parley/protocol/errors/errors.ts';
import {
  type AgentConfigInput,
  EVERY_ENDPOINT_TOOL,
  type ToolInput,
} from '@parley/protocol/resources/agent-definition.ts';
import type { BuiltInTool } from '@parley/protocol/resources/available-tool.ts';
import { nearestName } from '@parley/protocol/validation/nearest-name.ts';
import { compile } from '@parley/protocol/validation/validation.ts';
import type { AttachedTool } from '../../../core/tables/agent-tables.ts';
import { BUILT_IN_TOOL_FACTS } from './built-in-definitions.ts';
import type { ToolCatalogue } from './catalogue.ts';

/** A built-in tool as a request body attaches it. */
export type ToolSetting = Omit<AttachedTool, 'id' | 'created_at' | 'updated_at'>;

/**
 * Checks that the granted endpoint tools exist, that `*` stands alone, and that reviews name
 * existing tools. Throws ApiError `validation_failed` with the entry's param.
 */
export function checkEndpointTools(catalogue: ToolCatalogue, config: AgentConfigInput): void {
  const { endpoint_tool_slugs: slugs = [], endpoint_tool_review: review = {} } = config;
  for (const [i, slug] of slugs.entries()) {
    const param = `config.endpoint_tool_slugs[${i}]`;
    if (slug === EVERY_ENDPOINT_TOOL) {
      if (slugs.length > 1) throw invalid(param, 'The entry * must be the only one.');
    } else if (!catalogue.endpoints.has(slug)) throw noSuchTool(catalogue, slug, param);
  }
  for (const slug of Object.keys(review)) {
    if (catalogue.endpoints.has(slug)) continue;
    throw noSuchTool(catalogue, slug, `config.endpoint_tool_review.${slug}`);
  }
}

/** Names the tool that was probably meant, also by the operationId of its endpoint. */
function noSuchTool({ endpoints }: ToolCatalogue, slug: string, param: string): ApiError {
  const meant = nearestName(slug.replaceAll('_', '-'), [...endpoints.keys()]);
  const suggestion = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return invalid(param, `There is no such endpoint tool.${suggestion}`);
}

/**
 * Returns the attached tools with their defaults: the position in the list as `sort_order`, no
 * review. Throws ApiError `validation_failed` (one tool twice, a configuration that does not fit
 * its schema) or `invalid_format` (invalid JSON).
 */
export function readTools(tools: readonly ToolInput[]): ToolSetting[] {
  return tools.map(({ tool, config_json, sort_order, require_review }, i) => {
    if (tools.findIndex((other) => other.tool === tool) < i) {
      throw repeated(`config.tools[${i}].tool`);
    }
    return {
      tool,
      review_requirement: require_review ? 'required' : 'not_required',
      config: readConfig(tool, config_json, `config.tools[${i}].config_json`),
      sort_order: sort_order ?? i,
    };
  });
}

function readConfig(tool: BuiltInTool, json: string | undefined, param: string): unknown {
  if (json === undefined) return null;
  const config = parse(json, param);
  try {
    // Compiled at first use, to keep the start of the process fast; ajv caches the result.
    return compile(BUILT_IN_TOOL_FACTS[tool].configSchema)(config);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const where = error.param === null ? '' : `${error.param}: `;
    throw invalid(param, `Does not fit the tool's config_schema: ${where}${error.message}`);
  }
}

function parse(json: string, param: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new ApiError('invalid_format', 'Must be JSON.', { param, cause });
  }
}
