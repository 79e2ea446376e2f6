import type { AvailableTool } from '@parley/protocol/resources/available-tool.ts';
import type { TraceContext } from '@parley/protocol/traceparent.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { ToolSpec } from '../models/model.ts';

/** A tool as one run uses it: its description for the model, and its call. */
export interface RunTool {
  /** The catalogue's slug: `fetch_url`, `send-message`. */
  readonly slug: string;
  readonly category: AvailableTool['category'];
  readonly spec: ToolSpec;
  /** Whether a call changes something. */
  readonly mutating: boolean;
  /** Each call waits for a person's approval (docs/contract.md#tools). */
  readonly needsReview: boolean;
  /**
   * Returns whether a call with these arguments reaches people or servers outside the account. In a
   * run that a mail started it waits for approval, whatever `needsReview` says.
   */
  reachesOutside(args: Readonly<Record<string, unknown>>): boolean;
  /**
   * Executes the call. `args` has passed `parseArguments`. Throws ToolRefusal with the error for
   * the model; any other error is a defect of ours.
   */
  call(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolOutcome>;
}

export interface ToolContext {
  readonly accountId: string;
  readonly runId: string;
  /** The conversation of the run, or null. */
  readonly conversationId: string | null;
  /** Stable for this call: a repetition has no second effect. */
  readonly actionId: string;
  /** The agent with its current role. */
  readonly principal: Principal;
  /** The run's trace. */
  readonly trace?: TraceContext | undefined;
  readonly signal: AbortSignal;
}

export interface ToolOutcome {
  /** The output for the model: any JSON value of bounded size. */
  readonly output: unknown;
  /** The id of a message, the end of whose question is the output. */
  readonly awaits?: string;
}

/** A call that was refused or failed in a way that the model can read and react to. */
export class ToolRefusal extends Error {
  /** A condition of the error table, or `tool_failed`. */
  readonly condition: string;

  constructor(condition: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ToolRefusal';
    this.condition = condition;
  }
}
