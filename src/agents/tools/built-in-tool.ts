import type { AttachedTool } from '../../db/schema.ts';
import { ApiError } from '../../protocol/errors.ts';
import { BUILT_IN_TOOL_FACTS } from './built-in-definitions.ts';
import { type RunTool, ToolRefusal } from './tool.ts';

/** What is its own of each built-in tool. */
export interface BuiltInCall extends Pick<RunTool, 'call'> {
  /** One and the same object for all agents: what is compiled of it is kept. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A tool as it is attached to an agent: a mutating one needs review, whatever is said (docs/contract.md#tools). */
export function builtInTool(
  { tool: slug, review_requirement }: AttachedTool,
  { parameters, call }: BuiltInCall,
): RunTool {
  const { description, mutating } = BUILT_IN_TOOL_FACTS[slug];
  return {
    slug,
    category: 'built_in',
    spec: { name: slug, description, parameters },
    needsReview: mutating || review_requirement === 'required',
    async call(args, context) {
      try {
        return await call(args, context);
      } catch (error) {
        throw error instanceof ApiError ? new ToolRefusal(error.condition, error.message, error) : error;
      }
    },
  };
}
