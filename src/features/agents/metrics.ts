import { type Metrics, metricsIn } from '../../platform/metrics.ts';

export type AgentMetrics = ReturnType<typeof agentMetrics>;

/** Adds the metrics of this feature to the registry of a node, once. */
export function agentMetrics({ registry }: Pick<Metrics, 'registry'>) {
  const { counter, histogram, nodeGauge } = metricsIn(registry);
  return {
    modelSeconds: histogram(
      'parley_model_turn_duration_seconds',
      'Time of a turn of an agent until its answer was whole, failovers included, by the provider that answered',
      ['provider'],
      TURN_SECONDS,
    ),
    modelTokens: counter(
      'parley_model_tokens_total',
      'Tokens that providers report, by provider and direction: input, output',
      ['provider', 'direction'],
    ),
    modelCost: counter(
      'parley_model_cost_dollars_total',
      'US dollars at list price, of models whose prices are known',
      ['provider'],
    ),
    modelFailovers: counter(
      'parley_model_failovers_total',
      'Turns that went on with the next model, by the provider that failed and the reason',
      ['provider', 'reason'],
    ),
    agentRunsActive: nodeGauge('parley_agent_runs_active', 'Runs of agents that this node is at'),
    agentRuns: counter(
      'parley_agent_runs_total',
      'Runs that this node has ended or paused, by what became of them',
      ['outcome'],
    ),
  };
}

/** Bucket bounds from a model that answers in one word to a model that thinks for minutes. */
const TURN_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];
