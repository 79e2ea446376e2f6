import type { AgentRun, AgentRunAction, AgentRunStep } from '@parley/protocol/resources/agent-run.ts';
import type { Loading } from '../live/loaded-object.ts';

/** The run of an agent at a moment. */
export interface RunSnapshot extends Loading {
  /** The run itself, expanded; null until it was read. */
  readonly run: AgentRun | null;
  /** The text so far. It gets shorter where another model begins again. */
  readonly text: string;
  /**
   * The message or draft that has the text; null before the first word, and without a conversation.
   */
  readonly messageId: string | null;
  /** The turns of the model, in their order. */
  readonly steps: readonly AgentRunStep[];
  /** The calls of tools, in their order. */
  readonly actions: readonly AgentRunAction[];
  /** The calls that wait for a person: `arguments` is exactly what an approval permits. */
  readonly waiting: readonly AgentRunAction[];
  /** The cost of the turns in US dollars; null without configured prices. */
  readonly costUsd: number | null;
}
