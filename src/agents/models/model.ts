import type { TraceContext } from '../../protocol/traceparent.ts';

/**
 * The port to a language model: one turn in, its parts out as they come. What speaks to a provider implements it
 * (open-model.ts, demo-model.ts); who runs an agent talks to a chain of them (chain.ts).
 */
export interface Model {
  readonly provider: string;
  readonly model: string;
  /** Tokens that a prompt and its answer may have together. */
  readonly contextTokens: number;
  /**
   * Ends with a part `end`. Throws ModelError where the provider fails, refuses or breaks off, whatever was
   * streamed by then; what `signal` aborts with where that ends it.
   */
  stream(prompt: Prompt, signal: AbortSignal): AsyncIterable<ModelPart>;
}

export interface Prompt {
  /** The agent's standing instructions with the platform's guidance. */
  readonly instructions: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolSpec[];
  /** 0 to 1; null: the model's own. */
  readonly temperature: number | null;
  /** Of the run: each call of a provider is a step of it. */
  readonly trace?: TraceContext | undefined;
}

/** What was said so far, oldest first. */
export type Turn =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly ToolCall[] }
  /** What the calls of the turn before brought, one for each. */
  | { readonly role: 'tool'; readonly results: readonly ToolResult[] };

/** A tool as models are told of it. */
export interface ToolSpec {
  /** `[a-zA-Z0-9_-]{1,64}`. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ToolCall {
  /** The provider's, of one turn. */
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it; may be no valid JSON. */
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
  /** It is at work on what is not shown: it thinks, or writes the arguments of a call. */
  | { readonly type: 'thinking' | 'calling' }
  | { readonly type: 'call'; readonly call: ToolCall }
  | {
      readonly type: 'end';
      /** `length`: the answer was cut off. */
      readonly reason: 'stop' | 'calls' | 'length';
      readonly inputTokens: number | null;
      readonly outputTokens: number | null;
      /** US dollars; null where no price is known. */
      readonly costUsd: number | null;
    };

/** A provider failed: whoever has another one goes on with that. */
export class ModelError extends Error {
  /** Short, without secrets: `rate_limited`, `stalled`, `unavailable`, `refused`, `malformed`, `cut_off`. */
  readonly reason: string;
  /** How long it wants to be left alone, in milliseconds; null: it did not say. */
  readonly retryAfterMs: number | null;

  /** `message` is shown to users: no keys, no addresses, nothing that the provider wrote. */
  constructor(reason: string, message: string, retryAfterMs: number | null = null) {
    super(message);
    this.name = 'ModelError';
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}
