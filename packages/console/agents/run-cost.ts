import type { Item } from '../administration/section.ts';

/** A turn of a run, as far as it is counted. */
export interface CountedStep {
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cost_usd: number | null;
}

/** Returns the cost of a run; null where no step has a price. */
export function costOf({ steps }: Item): number | null {
  const costs = ((steps ?? []) as readonly CountedStep[]).flatMap(({ cost_usd }) => cost_usd ?? []);
  return costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0);
}
