import type { TraceContext } from '@parley/protocol/traceparent.ts';

/**
 * The port to a language model: one turn in, its parts out as they arrive. Adapters to providers
 * implement it (open-model.ts, demo-model.ts); runs use a chain of models (chain.ts).
 */
export interface Model {
  readonly provider: string;
  readonly model: string;
  /** Tokens that a prompt and its answer may have together. */
  readonly contextTokens: number;
  /**
   * Ends with a part `end`. Throws ModelError if the provider fails, refuses or breaks off, even
   * after parts were streamed, or the reason of `signal` when it aborts.
   */
  stream(prompt: Prompt, signal: AbortSignal): AsyncIterable<ModelPart>;
}

export interface Prompt {
  /** The agent's standing instructions with the platform's guidance. */
  readonly instructions: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolSpec[];
  /** 0 to 1; null for the model's default. */
  readonly temperature: number | null;
  /** Whether an answer without text and calls may end the run. Default: it is a failure. */
  readonly mayBeEmpty?: boolean;
  /** The run's trace: each call of a provider becomes a step in it. */
  readonly trace?: TraceContext | undefined;
}

/** A turn of the history, oldest first in a prompt. */
export type Turn =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly ToolCall[] }
  /** The results of the previous turn's calls, one for each. */
  | { readonly role: 'tool'; readonly results: readonly ToolResult[] };

/** A tool as models see it. */
export interface ToolSpec {
  /** `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ToolCall {
  /** The provider's id, unique within one turn. */
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it; may be invalid JSON. */
  readonly arguments: string;
}

export interface ToolResult {
  readonly callId: string;
  readonly name: string;
  /** Any JSON value. */
  readonly output: unknown;
  readonly failed: boolean;
}

export type ModelPart =
  | { readonly type: 'text'; readonly text: string }
  /** Activity that produces no visible text: thinking, or writing the arguments of a call. */
  | { readonly type: 'thinking' | 'calling' }
  | { readonly type: 'call'; readonly call: ToolCall }
  | {
      readonly type: 'end';
      /** `length` means that the answer was cut off. */
      readonly reason: 'stop' | 'calls' | 'length';
      /** Null if the provider reported none. */
      readonly inputTokens: number | null;
      readonly outputTokens: number | null;
      /** US dollars; null if no price is known. */
      readonly costUsd: number | null;
    };

/** A provider failed. The caller continues with another one if it has one. */
export class ModelError extends Error {
  /** `rate_limited`, `stalled`, `unavailable`, `refused`, `malformed`, `cut_off` or `empty`. */
  readonly reason: string;
  /** Pause that the provider asked for, in milliseconds; null if it asked for none. */
  readonly retryAfterMs: number | null;

  /** `message` is shown to users: no keys, no addresses, nothing that the provider wrote. */
  constructor(reason: string, message: string, retryAfterMs: number | null = null) {
    super(message);
    this.name = 'ModelError';
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}
