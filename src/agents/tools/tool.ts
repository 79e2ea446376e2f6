import type { Principal } from '../../access/principal.ts';
import type { AvailableTool } from '../../protocol/resources/available-tool.ts';
import type { TraceContext } from '../../protocol/traceparent.ts';
import type { ToolSpec } from '../models/model.ts';

/** A tool in the hand of one run: what the model is told of it, and how it is called. */
export interface RunTool {
  /** Of the catalogue: `fetch_url`, `send-message`. */
  readonly slug: string;
  readonly category: AvailableTool['category'];
  readonly spec: ToolSpec;
  /** Each call waits for a person (docs/contract.md#tools). */
  readonly needsReview: boolean;
  /**
   * Does it. `args` is what `parseArguments` accepted. Throws ToolRefusal with what the model is told; anything
   * else that it throws is a fault of ours.
   */
  call(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolOutcome>;
}

export interface ToolContext {
  readonly accountId: string;
  readonly runId: string;
  /** Stable for this call: what makes doing it again do nothing more. */
  readonly actionId: string;
  /** The agent, with its role as it stands now. */
  readonly principal: Principal;
  /** Of the run. */
  readonly trace?: TraceContext | undefined;
  readonly signal: AbortSignal;
}

export interface ToolOutcome {
  /** Any JSON value, bounded: what the model reads. */
  readonly output: unknown;
}

/** A call that was refused or failed in a way that the model can read and react to. */
export class ToolRefusal extends Error {
  /** As the error table names conditions, or `tool_failed`. */
  readonly condition: string;

  constructor(condition: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ToolRefusal';
    this.condition = condition;
  }
}
