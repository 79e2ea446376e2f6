import type { Tier } from '@parley/protocol/resources/agent-definition.ts';

/**
 * Less than most of these models accept (1,000,000 tokens): above 272,000 OpenAI doubles its
 * prices, and a whole year of a conversation does not improve an answer.
 */
export const KNOWN_CONTEXT_TOKENS = 200_000;

/** List prices, in US dollars per million tokens, for prompts of the usual length. */
export interface Prices {
  readonly input: number;
  readonly output: number;
}

/**
 * Prices of the models of the default chains, as of November 2026. Other models can be used by
 * name.
 */
export const KNOWN_MODELS: Readonly<Record<string, Prices>> = {
  'claude-fable-5-1': { input: 10, output: 50 },
  'claude-opus-5-5': { input: 4, output: 20 },
  'claude-sonnet-5-5': { input: 2, output: 10 },
  'claude-haiku-5-5': { input: 0.1, output: 0.5 },
  'claude-sonnet-4-6': { input: 3, output: 15 },
  'gpt-6-astra': { input: 10, output: 50 },
  'gpt-6.1-sol': { input: 2, output: 10 },
  'gpt-6.1-terra': { input: 1, output: 5 },
  'gpt-6-luna': { input: 0.1, output: 0.5 },
  'gpt-5.4': { input: 2.5, output: 15 },
};

/** Each vendor's model for each tier (docs/contract.md#tiers). */
export const VENDOR_MODELS: Readonly<Record<Tier, { readonly anthropic: string; readonly openai: string }>> =
  {
    frontier: { anthropic: 'claude-fable-5-1', openai: 'gpt-6-astra' },
    high: { anthropic: 'claude-opus-5-5', openai: 'gpt-6.1-sol' },
    balanced: { anthropic: 'claude-sonnet-5-5', openai: 'gpt-6.1-terra' },
    cheap: { anthropic: 'claude-haiku-5-5', openai: 'gpt-6-luna' },
    legacy: { anthropic: 'claude-sonnet-4-6', openai: 'gpt-5.4' },
  };
