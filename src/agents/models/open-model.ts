import { type Model, ModelError, type ModelPart, type Prompt } from './model.ts';
import { toModelError } from './provider-failure.ts';
import { type ProviderModel, toCallOptions } from './provider-prompt.ts';

export interface OpenModelSettings {
  readonly provider: 'openai' | 'anthropic' | 'openai-compatible';
  readonly model: string;
  /** Undefined: the vendor's. An openai-compatible one has to have it. */
  readonly baseUrl: string | undefined;
  readonly apiKey: string | undefined;
  readonly contextTokens: number;
  /** US dollars per million tokens; null: unknown. */
  readonly prices: { readonly input: number; readonly output: number } | null;
}

/**
 * A model behind a provider's HTTP API, through the `ai` SDK's providers. The SDK's `streamText` is left out on
 * purpose: for its loop over tools, which is ours here, each token goes through some eight streams (220 µs, where
 * the provider's own stream takes 40), and calls come parsed, where the text that is approved has to be the
 * model's own.
 */
export class OpenModel implements Model {
  readonly provider: string;
  readonly model: string;
  readonly contextTokens: number;
  readonly #settings: OpenModelSettings;
  #opened: Promise<ProviderModel> | undefined;

  constructor(settings: OpenModelSettings) {
    this.provider = settings.provider;
    this.model = settings.model;
    this.contextTokens = settings.contextTokens;
    this.#settings = settings;
  }

  async *stream(prompt: Prompt, signal: AbortSignal): AsyncIterable<ModelPart> {
    let finish: Finish | undefined;
    let calls = 0;
    let began = false;
    let thinks = false;
    try {
      this.#opened ??= open(this.#settings);
      const model = await this.#opened;
      const { stream } = await model.doStream(toCallOptions(prompt, signal));
      began = true;
      for await (const part of stream) {
        switch (part.type) {
          case 'text-delta':
            if (part.delta !== '') yield { type: 'text', text: part.delta };
            break;
          case 'tool-call':
            calls++;
            yield {
              type: 'call',
              call: { id: part.toolCallId, name: part.toolName, arguments: part.input },
            };
            break;
          case 'tool-input-start':
          case 'tool-input-delta':
            yield CALLING;
            break;
          case 'reasoning-start':
          case 'reasoning-delta':
            thinks = true;
            yield THINKING;
            break;
          case 'reasoning-end':
            thinks = false;
            break;
          case 'ping':
            // By itself it says that the server lives, not that the model does.
            if (thinks) yield THINKING;
            break;
          case 'error':
            throw toModelError(part.error, began);
          case 'finish':
            finish = part;
            break;
        }
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw toModelError(error, began);
    }
    yield this.#end(finish, calls);
  }

  #end(finish: Finish | undefined, calls: number): ModelPart {
    const inputTokens = finish?.usage.inputTokens.total ?? null;
    const outputTokens = finish?.usage.outputTokens.total ?? null;
    const reason = endingOf(finish?.finishReason, calls);
    return { type: 'end', reason, inputTokens, outputTokens, costUsd: this.#cost(inputTokens, outputTokens) };
  }

  /** At list price: what a provider takes off for what it had cached is not known here. */
  #cost(inputTokens: number | null, outputTokens: number | null): number | null {
    const { prices } = this.#settings;
    if (prices === null || inputTokens === null || outputTokens === null) return null;
    return (inputTokens * prices.input + outputTokens * prices.output) / 1_000_000;
  }
}

type Stream = Awaited<ReturnType<ProviderModel['doStream']>>['stream'];
type Part = Stream extends ReadableStream<infer P> ? P : never;
type Finish = Extract<Part, { type: 'finish' }>;

const THINKING: ModelPart = { type: 'thinking' };
const CALLING: ModelPart = { type: 'calling' };

/** Throws ModelError where the provider did not come to an end, or would not answer. */
function endingOf(finish: Finish['finishReason'] | undefined, calls: number): 'stop' | 'calls' | 'length' {
  switch (finish?.unified) {
    case 'content-filter':
      throw new ModelError('refused', 'The model refused to answer.');
    case undefined:
    case 'interrupted':
    case 'error':
      throw new ModelError('cut_off', 'The model broke off before the end of its answer.');
    case 'length':
      return 'length';
    default:
      // Some servers say `stop` after calls, and `other` is a name that the SDK does not know.
      return calls > 0 ? 'calls' : 'stop';
  }
}

/** Loads the provider's part of the SDK: not before a model is asked for the first time. */
async function open({ provider, model, baseUrl, apiKey }: OpenModelSettings): Promise<ProviderModel> {
  switch (provider) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI(definedOnly({ baseURL: baseUrl, apiKey })).responses(model);
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic(definedOnly({ baseURL: baseUrl, apiKey }))(model);
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const options = { name: provider, baseURL: '', includeUsage: true };
      return createOpenAICompatible({ ...options, ...definedOnly({ baseURL: baseUrl, apiKey }) })(model);
    }
  }
}

/** Under exactOptionalPropertyTypes what is not set has to be left out. */
function definedOnly(options: { baseURL: string | undefined; apiKey: string | undefined }) {
  const { baseURL, apiKey } = options;
  return { ...(baseURL === undefined ? {} : { baseURL }), ...(apiKey === undefined ? {} : { apiKey }) };
}
