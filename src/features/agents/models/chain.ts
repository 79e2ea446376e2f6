import { setTimeout as pause } from 'node:timers/promises';
import { type Failover, RUN_LIMITS } from '@parley/protocol/resources/agent-run.ts';
import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';
import { ModelAttempt, PATIENCE, type Patience } from './attempt.ts';
import { Cooldowns } from './cooldowns.ts';
import { type Model, ModelError, type ModelPart, type Prompt, type ToolCall } from './model.ts';
import { cleanText, cutText, TextCleaner } from './text-cleaner.ts';
import { ThinkBlock } from './think-block.ts';

/** Size limits for the output of a model in one turn. */
export const TURN_LIMITS = {
  /** UTF-16 units of text, after which it is cut off: the maximum length of a message. */
  textCharacters: MESSAGE_LIMITS.bodyCharacters,
  calls: RUN_LIMITS.callsPerStep,
  /** Bytes of the arguments of all calls: room for the largest artifact, escaped as JSON. */
  argumentsBytes: 2_097_152,
} as const;

/** Receives the progress of a turn. */
export interface TurnListener {
  /** Handles more text of the model. `Completion.text` is all text since the last failover. */
  onText(text: string): void;
  /** Handles the failure of a model, whose text is discarded. The next model is asked. */
  onFailover(failover: Failover): void;
}

/** A completed turn. Its tokens are those of the model that answered. */
export interface Completion extends End {
  readonly provider: string;
  readonly model: string;
  readonly text: string;
  /** At most TURN_LIMITS.calls, with distinct ids. */
  readonly calls: readonly ToolCall[];
  /** The models that failed before this one, in order. */
  readonly failovers: readonly Failover[];
}

interface ChainOptions {
  /** Shared by the chains of a node. */
  readonly cooldowns?: Cooldowns;
  readonly patience?: Partial<Patience>;
  /** How long a turn waits when every model is rate-limited, in milliseconds. */
  readonly mostWaitMs?: number;
}

/** How many times a turn goes through its chain. */
const ROUNDS = 2;

/** A list of models that replace each other, best first (docs/contract.md#tiers). */
export class ModelChain {
  readonly #models: readonly Model[];
  readonly #cooldowns: Cooldowns;
  readonly #patience: Patience;
  readonly #mostWaitMs: number;

  /** `models` has at least one entry. */
  constructor(models: readonly Model[], options: ChainOptions = {}) {
    this.#models = models;
    this.#cooldowns = options.cooldowns ?? new Cooldowns();
    this.#patience = { ...PATIENCE, ...options.patience };
    this.#mostWaitMs = options.mostWaitMs ?? 10_000;
  }

  /** Tokens that a prompt and its answer may have together, whichever model answers. */
  get contextTokens(): number {
    return Math.min(...this.#models.map((model) => model.contextTokens));
  }

  /**
   * Makes one turn with the first model that succeeds. A model that fails, refuses, breaks off,
   * stalls or says nothing is followed by the next one, and a rate-limited model is not asked
   * before its pause is over. If every model failed, those whose pause ends soon are asked once
   * more. Throws ModelError with the reason of the last model if that fails too, or the reason of
   * `signal` when it aborts.
   */
  async complete(prompt: Prompt, listener: TurnListener, signal: AbortSignal): Promise<Completion> {
    const failovers: Failover[] = [];
    let failure: { readonly model: Model; readonly error: ModelError } | undefined;
    const givenUp = new Set<Model>();
    for await (const model of this.#askable(givenUp, signal)) {
      if (failure !== undefined) {
        const { provider, model: name } = failure.model;
        const failover = { provider, model: name, reason: failure.error.reason };
        failovers.push(failover);
        listener.onFailover(failover);
      }
      try {
        return { ...(await this.#ask(model, prompt, listener, signal)), failovers };
      } catch (error) {
        if (signal.aborted || !(error instanceof ModelError)) throw error;
        if (!this.#cooldowns.recordFailure(model, error)) givenUp.add(model);
        failure = { model, error };
      }
    }
    throw noneAnswered(failure?.error);
  }

  /**
   * Yields the models to ask next, until one has answered. In the first round they come in order,
   * or the first to become free if the whole chain is rate-limited; in the second round, models
   * that were not given up. All waits together take no longer than a turn may wait.
   */
  async *#askable(givenUp: ReadonlySet<Model>, signal: AbortSignal): AsyncGenerator<Model> {
    let leftMs = this.#mostWaitMs;
    for (let round = 1; round <= ROUNDS; round++) {
      signal.throwIfAborted();
      const waits = new Map(
        this.#models
          .filter((model) => !givenUp.has(model))
          .map((model) => [model, this.#cooldowns.left(model)]),
      );
      const shortestMs = Math.min(...waits.values());
      if (shortestMs > leftMs) return;
      if (shortestMs > 0) {
        await pause(shortestMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
      leftMs -= shortestMs;
      for (const [model, waitMs] of waits) {
        // A model may have become free while those before it failed.
        if (waitMs <= shortestMs || this.#cooldowns.left(model) === 0) yield model;
      }
    }
  }

  async #ask(
    model: Model,
    prompt: Prompt,
    listener: TurnListener,
    signal: AbortSignal,
  ): Promise<Omit<Completion, 'failovers'>> {
    const attempt = new ModelAttempt(signal, this.#patience);
    const answer = new ModelAnswer(listener);
    try {
      for await (const part of model.stream(prompt, attempt.signal)) {
        attempt.onPart(part);
        answer.add(part);
        if (answer.end !== undefined) break;
      }
    } finally {
      attempt.end();
    }
    const { provider, model: name } = model;
    return { provider, model: name, ...answer.finished(prompt.mayBeEmpty ?? false) };
  }
}

type End = Omit<Extract<ModelPart, { type: 'end' }>, 'type'>;

/** The parts of one model's answer, within TURN_LIMITS. */
class ModelAnswer {
  readonly #listener: TurnListener;
  readonly #cleaner = new TextCleaner();
  readonly #thinkBlock = new ThinkBlock();
  readonly #calls: ToolCall[] = [];
  #argumentsBytes = 0;
  #text = '';
  end: End | undefined;

  constructor(listener: TurnListener) {
    this.#listener = listener;
  }

  /** Throws ModelError `malformed` if the arguments exceed TURN_LIMITS.argumentsBytes. */
  add(part: ModelPart): void {
    switch (part.type) {
      case 'text':
        this.#emitText(this.#thinkBlock.push(this.#cleaner.push(part.text)));
        return;
      case 'call':
        this.#call(part.call);
        return;
      case 'end':
        this.#emitText(this.#thinkBlock.push(this.#cleaner.end()));
        this.#emitText(this.#thinkBlock.end());
        this.end ??= part;
        return;
    }
  }

  /** Throws ModelError `cut_off`, or `empty` if there is neither text nor call. */
  finished(mayBeEmpty: boolean): End & { readonly text: string; readonly calls: readonly ToolCall[] } {
    const { end } = this;
    if (end === undefined)
      throw new ModelError('cut_off', 'The model broke off before the end of its answer.');
    if (this.#text === '' && this.#calls.length === 0 && !mayBeEmpty)
      throw new ModelError('empty', 'The model answered without a text.');
    const { reason, inputTokens, outputTokens, costUsd } = end;
    return { text: this.#text, calls: this.#calls, reason, inputTokens, outputTokens, costUsd };
  }

  #emitText(text: string): void {
    const fitting = cutText(text, TURN_LIMITS.textCharacters - this.#text.length);
    if (fitting !== '') {
      this.#text += fitting;
      this.#listener.onText(fitting);
    }
    if (fitting.length < text.length) {
      this.end = { reason: 'length', inputTokens: null, outputTokens: null, costUsd: null };
    }
  }

  #call({ id, name, arguments: args }: ToolCall): void {
    this.#argumentsBytes += Buffer.byteLength(args);
    if (this.#argumentsBytes > TURN_LIMITS.argumentsBytes) {
      throw new ModelError('malformed', 'The model called a tool with arguments that are too large.');
    }
    // Dropped calls are absent from the history too: a model that still needs one asks again.
    if (this.#calls.length === TURN_LIMITS.calls) return;
    const isTaken = id === '' || this.#calls.some((call) => call.id === id);
    this.#calls.push({
      id: isTaken ? `call_${this.#calls.length + 1}_of_turn` : cleanText(id),
      name: cleanText(name),
      arguments: cleanText(args),
    });
  }
}

function noneAnswered(last: ModelError | undefined): ModelError {
  if (last === undefined) return new ModelError('unavailable', 'Every model is rate-limited for now.');
  return new ModelError(last.reason, `No model answered. The last one: ${last.message}`);
}
