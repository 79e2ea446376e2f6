import type { Tier } from '../../../contract/protocol/resources/agent-definition.ts';

/** A vendor's list prices, in US dollars per million tokens, for prompts of the usual length. */
export interface KnownModel {
  readonly contextTokens: number;
  readonly prices: { readonly input: number; readonly output: number };
}

/**
 * Less than most of these models accept (1,000,000 tokens): above 272,000 OpenAI doubles its
 * prices, and a whole year of a conversation does not improve an answer.
 */
const CONTEXT_TOKENS = 200_000;

/** Models of the default chains, as of November 2026. Other models can be used by name. */
export const KNOWN_MODELS: Readonly<Record<string, KnownModel>> = {
  'claude-fable-5-1': known(10, 50),
  'claude-opus-5-5': known(4, 20),
  'claude-sonnet-5-5': known(2, 10),
  'claude-haiku-5-5': known(0.1, 0.5),
  'claude-sonnet-4-6': known(3, 15),
  'gpt-6-astra': known(10, 50),
  'gpt-6.1-sol': known(2, 10),
  'gpt-6.1-terra': known(1, 5),
  'gpt-6-luna': known(0.1, 0.5),
  'gpt-5.4': known(2.5, 15),
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

function known(input: number, output: number): KnownModel {
  return { contextTokens: CONTEXT_TOKENS, prices: { input, output } };
}
