import type { Kind, Reader } from '../../platform/settings/reader.ts';
import { TEXT, WEB_URL } from '../../platform/settings/values.ts';

declare module '../../core/features/node-settings.ts' {
  interface NodeSettings extends AgentSettings {}
}

interface AgentSettings {
  readonly models: Readonly<ReturnType<typeof readModels>>;
}

export function readAgentSettings(reader: Reader): AgentSettings {
  return { models: readModels(reader) };
}

function readModels(reader: Reader) {
  const openaiApiKey = reader.read('OPENAI_API_KEY', TEXT, null);
  const anthropicApiKey = reader.read('ANTHROPIC_API_KEY', TEXT, null);
  /** The models of a tier in the order of tries; null if the keys above decide. */
  const chains = reader.read('PARLEY_MODELS', MODEL_CHAINS, null);
  const choices = Object.values(chains ?? {}).flat();
  for (const [provider, key] of Object.entries({ openai: openaiApiKey, anthropic: anthropicApiKey })) {
    const keyless = choices.filter((one) => one.provider === provider && one.api_key === undefined);
    if (key !== null || keyless.length === 0) continue;
    reader.problem(`PARLEY_MODELS: ${provider} needs "api_key" or ${provider.toUpperCase()}_API_KEY`);
  }
  return { openaiApiKey, anthropicApiKey, chains };
}

const MODEL_TIERS = ['frontier', 'high', 'balanced', 'cheap', 'legacy'] as const;
type ModelTier = (typeof MODEL_TIERS)[number];
const MODEL_PROVIDERS = ['openai', 'anthropic', 'openai-compatible', 'demo'] as const;

const MODEL_CHAINS: Kind<Readonly<Partial<Record<ModelTier, readonly ModelChoice[]>>>> = {
  accepts: `a JSON object of lists of {"provider":"${MODEL_PROVIDERS.join('|')}","model":"…","base_url" (of openai-compatible),"api_key"?,"context_tokens"?,"input_price"?,"output_price"?} by tier (${MODEL_TIERS.join(', ')})`,
  secret: true,
  multiline: true,
  parse: (text) => {
    const chains = parseJson(text);
    if (!isObject(chains)) return undefined;
    for (const [tier, chain] of Object.entries(chains)) {
      if (!MODEL_TIERS.some((known) => known === tier)) return undefined;
      if (!Array.isArray(chain) || chain.length === 0 || !chain.every(isModelChoice)) return undefined;
    }
    return chains;
  },
};

function isModelChoice(value: unknown): value is ModelChoice {
  if (!isObject(value) || !MODEL_PROVIDERS.some((known) => known === value.provider)) return false;
  const { provider, ...fields } = value;
  const needed = provider === 'openai-compatible' ? ['model', 'base_url'] : ['model'];
  if (!needed.every((name) => Object.hasOwn(fields, name))) return false;
  return Object.entries(fields).every(([name, field]) => MODEL_FIELDS.get(name)?.(field));
}

const isText = (value: unknown) => typeof value === 'string' && value !== '';
const isPrice = (value: unknown) => typeof value === 'number' && value >= 0;
const MODEL_FIELDS = new Map<string, (value: unknown) => boolean>([
  ['model', isText],
  ['api_key', isText],
  ['base_url', (value) => typeof value === 'string' && WEB_URL.parse(value) !== undefined],
  // An agent's instructions alone exceed a smaller window.
  ['context_tokens', (value) => Number.isSafeInteger(value) && Number(value) >= 2_000],
  ['input_price', isPrice],
  ['output_price', isPrice],
]);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface ModelChoice {
  readonly provider: (typeof MODEL_PROVIDERS)[number];
  readonly model: string;
  /** The server; required by openai-compatible, for others it replaces the vendor's own URL. */
  readonly base_url?: string;
  /** Replaces OPENAI_API_KEY or ANTHROPIC_API_KEY. */
  readonly api_key?: string;
  /** Tokens of a prompt and its answer together. */
  readonly context_tokens?: number;
  /** US dollars per million tokens. */
  readonly input_price?: number;
  readonly output_price?: number;
}
