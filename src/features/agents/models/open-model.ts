import type { Prices } from './known-models.ts';
import { type Model, ModelError, type ModelPart, type Prompt } from './model.ts';
import { toModelError } from './provider-failure.ts';
import { type ProviderModel, toCallOptions } from './provider-prompt.ts';
import { withReadableChunks } from './readable-chunks.ts';

export interface OpenModelSettings {
  readonly provider: 'openai' | 'anthropic' | 'openai-compatible';
  readonly model: string;
  /** Undefined means the vendor's own URL; an openai-compatible provider requires one. */
  readonly baseUrl: string | undefined;
  readonly apiKey: string | undefined;
  readonly contextTokens: number;
  /** Null if unknown. */
  readonly prices: Prices | null;
}

/**
 * A model behind a provider's HTTP API, through the `ai` SDK's providers. The SDK's `streamText` is
 * left out on purpose, because the loop over tools is ours. `streamText` passes each token through
 * some eight streams (220 µs, against 40 µs for the provider's own stream). It also parses calls,
 * while the approved text must be byte for byte the model's own.
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
            // This part alone proves that the server is alive, not that the model is.
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

  /** Returns the cost at list price: discounts for cached prompts are not known here. */
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

/** Throws ModelError if the provider broke off or refused to answer. */
function endingOf(finish: Finish['finishReason'] | undefined, calls: number): 'stop' | 'calls' | 'length' {
  switch (OTHER_REASONS[finish?.raw ?? ''] ?? finish?.unified) {
    case 'content-filter':
      throw new ModelError('refused', 'The model refused to answer.');
    case undefined:
    case 'interrupted':
    case 'error':
      throw new ModelError('cut_off', 'The model broke off before the end of its answer.');
    case 'length':
      return 'length';
    default:
      // Some servers send `stop` after calls; `other` is a reason unknown to the SDK.
      return calls > 0 ? 'calls' : 'stop';
  }
}

/** Reasons of servers that the SDK does not know; it calls them `other`. */
const OTHER_REASONS: Readonly<Record<string, 'error' | 'length'>> = {
  error: 'error',
  abort: 'error',
  insufficient_system_resource: 'error',
  model_length: 'length',
  max_tokens: 'length',
};

/** Loads the provider's part of the SDK, on the first request to a model and not before. */
async function open({ provider, model, baseUrl, apiKey }: OpenModelSettings): Promise<ProviderModel> {
  // exactOptionalPropertyTypes requires unset options to be absent.
  const options = {
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    ...(apiKey !== undefined && { apiKey }),
    // Node's own fetch would ask for Brotli too, whose decoder has a published fault (SECURITY.md).
    headers: { 'Accept-Encoding': 'gzip, deflate' },
  };
  switch (provider) {
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI(options).responses(model);
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic(options)(model);
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const server = {
        name: provider,
        baseURL: '',
        includeUsage: true,
        fetch: async (...request: Parameters<typeof fetch>) => withReadableChunks(await fetch(...request)),
      };
      return createOpenAICompatible({ ...server, ...options })(model);
    }
  }
}
