import { setTimeout as pause } from 'node:timers/promises';
import { type Failover, RUN_LIMITS } from '../../protocol/resources/agent-run.ts';
import { MESSAGE_LIMITS } from '../../protocol/resources/chat-message.ts';
import { ModelAttempt, PATIENCE, type Patience } from './attempt.ts';
import { Cooldowns } from './cooldowns.ts';
import { type Model, ModelError, type ModelPart, type Prompt, type ToolCall } from './model.ts';
import { cleanText, cutText, TextCleaner } from './text-cleaner.ts';

/** Sizes of what a model may answer in one turn. */
export const TURN_LIMITS = {
  /** UTF-16 units of text, after which it is cut off: as long as a message may be. */
  textCharacters: MESSAGE_LIMITS.bodyCharacters,
  calls: RUN_LIMITS.callsPerStep,
  /** Of the arguments of all calls: room for the largest artifact, escaped as JSON. */
  argumentsBytes: 2_097_152,
} as const;

/** Hears of a turn while it is made. */
export interface TurnListener {
  /** The model said more. All of it together, since the last failover, is `Completion.text`. */
  onText(text: string): void;
  /** A model failed and the next one is about to be asked: what it said does not count. */
  onFailover(failover: Failover): void;
}

/** One turn, made. */
export interface Completion {
  readonly provider: string;
  readonly model: string;
  readonly text: string;
  /** At most TURN_LIMITS.calls, with ids that differ. */
  readonly calls: readonly ToolCall[];
  /** `length`: the text was cut off. */
  readonly reason: 'stop' | 'calls' | 'length';
  /** Of the model that answered; null where it did not tell. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
  /** The models that failed before it, in order. */
  readonly failovers: readonly Failover[];
}

export interface ChainOptions {
  /** Shared by the chains of a node. */
  readonly cooldowns?: Cooldowns;
  readonly patience?: Partial<Patience>;
  /** How long a turn waits where every model wants to be left alone, in milliseconds. */
  readonly mostWaitMs?: number;
}

/** How often a turn goes through its chain. */
const ROUNDS = 2;

/** Models that stand in for each other, best first (docs/contract.md#tiers). */
export class ModelChain {
  readonly #models: readonly Model[];
  readonly #cooldowns: Cooldowns;
  readonly #patience: Patience;
  readonly #mostWaitMs: number;

  /** At least one model. */
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
   * Makes one turn with the first model that manages to: one that fails, refuses, breaks off or keeps silent for
   * too long is left for the next, and one that is rate-limited is not asked before it wants to be. Where none
   * managed, those that asked for a pause which is over soon are asked once more. Throws ModelError `unavailable` when
   * none managed then either; what `signal` aborts with when that ends it.
   */
  async complete(prompt: Prompt, listener: TurnListener, signal: AbortSignal): Promise<Completion> {
    const failovers: Failover[] = [];
    let failure: { readonly model: Model; readonly error: ModelError } | undefined;
    const givenUp = new Set<Model>();
    for await (const model of this.#askable(givenUp, signal)) {
      if (failure !== undefined) {
        const failover = failoverOf(failure.model, failure.error);
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
   * Who is to be asked next, as long as nobody has answered: those that may be asked now, in order, and of a chain that
   * is rate-limited as a whole who is first to be free; then the same of those that are not given up. Waits no longer
   * than a turn may, all together.
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
      if (shortestMs > 0) await sleep(shortestMs, signal);
      leftMs -= shortestMs;
      for (const [model, waitMs] of waits) {
        // Some are free by the time that those before them have failed.
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
    return { provider, model: name, ...answer.finished() };
  }
}

type End = Omit<Extract<ModelPart, { type: 'end' }>, 'type'>;

/** What one model has said of its turn, within TURN_LIMITS. */
class ModelAnswer {
  readonly #listener: TurnListener;
  readonly #cleaner = new TextCleaner();
  readonly #calls: ToolCall[] = [];
  #argumentsBytes = 0;
  #text = '';
  end: End | undefined;

  constructor(listener: TurnListener) {
    this.#listener = listener;
  }

  /** Throws ModelError `malformed` where arguments are too large to be meant. */
  add(part: ModelPart): void {
    switch (part.type) {
      case 'text':
        this.#emitText(this.#cleaner.push(part.text));
        return;
      case 'call':
        this.#call(part.call);
        return;
      case 'end':
        this.#emitText(this.#cleaner.end());
        this.end ??= part;
        return;
    }
  }

  finished(): End & { readonly text: string; readonly calls: readonly ToolCall[] } {
    const { end } = this;
    if (end === undefined)
      throw new ModelError('cut_off', 'The model broke off before the end of its answer.');
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
    // What is left out is not in the history either: a model that still wants it asks again.
    if (this.#calls.length === TURN_LIMITS.calls) return;
    const isTaken = id === '' || this.#calls.some((call) => call.id === id);
    this.#calls.push({
      id: isTaken ? `call_${this.#calls.length + 1}_of_turn` : cleanText(id),
      name: cleanText(name),
      arguments: cleanText(args),
    });
  }
}

function failoverOf({ provider, model }: Model, { reason }: ModelError): Failover {
  return { provider, model, reason };
}

function noneAnswered(last: ModelError | undefined): ModelError {
  if (last === undefined) return new ModelError('unavailable', 'Every model is rate-limited for now.');
  return new ModelError('unavailable', `No model answered. The last one: ${last.message}`);
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
