import { TIERS, type Tier } from '@parley/protocol/resources/agent-definition.ts';
import type { RunTrigger } from '@parley/protocol/resources/agent-run.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { Patience } from './attempt.ts';
import { ModelChain } from './chain.ts';
import { Cooldowns } from './cooldowns.ts';
import { DemoModel } from './demo-model.ts';
import { KNOWN_CONTEXT_TOKENS, KNOWN_MODELS, VENDOR_MODELS } from './known-models.ts';
import type { Model } from './model.ts';
import { OpenModel } from './open-model.ts';

/** `chains`: null if the chains are derived from the keys. */
export type TiersOptions = NodeParts['config']['models'] & { readonly patience?: Partial<Patience> };

type Chains = NonNullable<TiersOptions['chains']>;

/** An entry of PARLEY_MODELS. Without both prices those of a known model apply, or none. */
export type ModelChoice = NonNullable<Chains[Tier]>[number];

/** The chain of each tier. Nothing is loaded or connected before a chain is used. */
export class ModelTiers {
  readonly #chains = new Map<Tier, ModelChain>();
  /** Tiers that name the same model share it, and with it its cooldown. */
  readonly #models = new Map<string, Model>();
  readonly #options: TiersOptions;

  constructor(options: TiersOptions) {
    this.#options = options;
    const cooldowns = new Cooldowns();
    for (const [tier, choices] of chainsOf(options)) {
      const models = choices.map((choice) => this.#open(choice));
      this.#chains.set(tier, new ModelChain(models, { cooldowns, patience: options.patience ?? {} }));
    }
  }

  /** Returns the chain of the agent's tier or, if it is unset, of the tier for the trigger. */
  chainFor(agent: { readonly tier: Tier | null }, trigger: RunTrigger): ModelChain {
    return this.#chains.get(tierOf(agent, trigger))!;
  }

  #open(choice: ModelChoice): Model {
    const key = JSON.stringify(choice);
    const model = this.#models.get(key) ?? openChoice(choice, this.#options);
    this.#models.set(key, model);
    return model;
  }
}

/** Returns every provider that some tier uses, each once. */
export function providersOf(options: TiersOptions): string[] {
  const choices = [...chainsOf(options).values()].flat();
  return [...new Set(choices.map(({ provider }) => provider))];
}

/** Returns the tier of a run: an unset tier follows the trigger (docs/contract.md#tiers). */
export function tierOf({ tier }: { readonly tier: Tier | null }, trigger: RunTrigger): Tier {
  return tier ?? (trigger === 'chat' || trigger === 'manual' ? 'high' : 'balanced');
}

const DEMO: readonly ModelChoice[] = [{ provider: 'demo', model: 'demo' }];

/** Assumed window of models of unknown servers, where small ones are common. */
const UNKNOWN_CONTEXT_TOKENS = 32_000;

/**
 * Returns the chains without PARLEY_MODELS: the vendors whose keys are set, each as the fallback of
 * the other, or the demo model without keys.
 */
function vendorChains({ anthropicApiKey, openaiApiKey }: TiersOptions): Chains {
  return Object.fromEntries(
    TIERS.map((tier) => {
      const { anthropic, openai } = VENDOR_MODELS[tier];
      const chain: ModelChoice[] = [];
      if (anthropicApiKey !== null) chain.push({ provider: 'anthropic', model: anthropic });
      if (openaiApiKey !== null) chain.push({ provider: 'openai', model: openai });
      return [tier, chain.length > 0 ? chain : DEMO];
    }),
  );
}

/**
 * Returns for each tier its own chain or that of the nearest tier. Of two equally near tiers the
 * cheaper one is taken, so that costs do not grow unasked.
 */
function chainsOf(options: TiersOptions): ReadonlyMap<Tier, readonly ModelChoice[]> {
  const chains = options.chains ?? vendorChains(options);
  const named = TIERS.filter((tier) => chains[tier] !== undefined).toReversed();
  const nearestTo = (tier: Tier) => {
    const distance = (other: Tier) => Math.abs(TIERS.indexOf(other) - TIERS.indexOf(tier));
    const nearest = named.toSorted((one, other) => distance(one) - distance(other))[0];
    return (nearest && chains[nearest]) ?? DEMO;
  };
  return new Map(TIERS.map((tier) => [tier, nearestTo(tier)]));
}

function openChoice(choice: ModelChoice, { openaiApiKey, anthropicApiKey }: TiersOptions): Model {
  const { provider, model, base_url: baseUrl, api_key, context_tokens, input_price, output_price } = choice;
  if (provider === 'demo') return new DemoModel();
  // Another server may serve another model under the same name.
  const known = provider === 'openai-compatible' ? undefined : KNOWN_MODELS[model];
  const vendorKey = { openai: openaiApiKey, anthropic: anthropicApiKey, 'openai-compatible': null }[provider];
  const isPriced = input_price !== undefined && output_price !== undefined;
  return new OpenModel({
    provider,
    model,
    baseUrl,
    apiKey: api_key ?? vendorKey ?? undefined,
    contextTokens: context_tokens ?? (known ? KNOWN_CONTEXT_TOKENS : UNKNOWN_CONTEXT_TOKENS),
    prices: isPriced ? { input: input_price, output: output_price } : (known ?? null),
  });
}
