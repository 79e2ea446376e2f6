import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { AttachedTool } from '../../../core/tables/agent-tables.ts';
import { BUILT_IN_TOOL_FACTS } from './built-in-definitions.ts';
import { type RunTool, ToolRefusal } from './tool.ts';

/** The parts that differ between built-in tools. */
export interface BuiltInCall extends Pick<RunTool, 'call'> {
  /** The same object for all agents: its compiled validator is cached. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/**
 * Returns a tool as it is attached to an agent. A mutating tool always needs review, whatever its
 * configuration says (docs/contract.md#tools).
 */
export function builtInTool(
  { tool: slug, review_requirement }: AttachedTool,
  { parameters, call }: BuiltInCall,
): RunTool {
  const { description, mutating, reachesOutside } = BUILT_IN_TOOL_FACTS[slug];
  return {
    slug,
    category: 'built_in',
    spec: { name: slug, description, parameters },
    mutating,
    needsReview: mutating || review_requirement === 'required',
    reachesOutside: () => reachesOutside,
    async call(args, context) {
      try {
        return await call(args, context);
      } catch (error) {
        throw error instanceof ApiError ? new ToolRefusal(error.condition, error.message, error) : error;
      }
    },
  };
}
