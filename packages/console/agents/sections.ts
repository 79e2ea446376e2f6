import { type Item, isStatus, type Section } from '../administration/section.ts';
import { AGENT_TEXTS, START_TEXTS } from '../administration/texts/agent-texts.ts';
import { AgentTrial } from './agent-trial.tsx';
import { costOf } from './run-cost.ts';
import { RunTotals } from './run-totals.tsx';

/** Agents, their runs, and their tools. */
export const AGENT_SECTIONS: readonly Section[] = [
  {
    slug: 'agents',
    texts: AGENT_TEXTS,
    begin: () => ({ trigger_type: 'chat' }),
    title: 'Agents',
    one: 'agent',
    about: 'Automated colleagues: their instructions, models, tools and triggers.',
    list: 'list_agents',
    get: 'get_agent',
    create: 'create_agent',
    update: 'update_agent',
    include: { get: ['config', 'tools', 'role'] },
    columns: ['name', 'trigger_type', 'status', 'category_code'],
    omit: ['role_id', 'actor_id', 'avatar_url'],
    asBody: agentBody,
    actions: [
      { label: 'Start a run', operation: 'trigger_agent_run', shownIn: 'runs', texts: START_TEXTS },
      {
        label: 'Delete',
        operation: 'delete_agent',
        when: ({ editability }) => editability === 'editable',
        warning: 'The agent stops at once and is removed. This cannot be undone.',
        isDanger: true,
        removes: true,
      },
    ],
    parts: [
      {
        title: 'Runs',
        list: 'list_agent_runs',
        columns: ['created_at', 'trigger_type', 'status', 'duration_ms', 'error_message'],
        shownIn: 'runs',
      },
      {
        title: 'Times of the schedule',
        list: 'list_agent_occurrences',
        columns: ['due_at', 'outcome', 'reason'],
      },
    ],
    More: AgentTrial,
  },
  {
    slug: 'runs',
    texts: {},
    title: 'Runs of agents',
    one: 'run',
    about: 'What agents did, step by step, what it cost, and what failed.',
    list: 'list_runs',
    get: 'get_agent_run',
    include: {
      list: ['definition', 'triggered_by', 'steps'],
      get: ['definition', 'triggered_by', 'steps', 'actions'],
    },
    columns: ['created_at', 'definition', 'status', 'duration_ms', 'cost_usd', 'error_message'],
    asRow: (run) => ({ ...run, cost_usd: costOf(run) }),
    omit: ['steps', 'actions', 'agent_id', 'triggered_by_id'],
    actions: [
      {
        label: 'Stop',
        operation: 'cancel_agent_run',
        when: isStatus('pending', 'running', 'awaiting_input', 'awaiting_approval'),
        warning: 'The agent stops where it is.',
        isDanger: true,
      },
    ],
    parts: [
      {
        title: 'Steps',
        field: 'steps',
        columns: [
          'position',
          'status',
          'model',
          'text',
          'input_tokens',
          'output_tokens',
          'cost_usd',
          'error_message',
        ],
      },
      {
        title: 'Calls of tools',
        field: 'actions',
        columns: ['tool', 'status', 'arguments', 'result', 'error_message'],
      },
    ],
    More: RunTotals,
  },
  {
    slug: 'tools',
    texts: {},
    title: 'Tools',
    one: 'tool',
    about: 'What agents can be given.',
    list: 'list_tools',
    columns: ['name', 'slug', 'description', 'category', 'mutating'],
  },
];

/** Returns an agent as a body, which names its tools differently. */
function agentBody({ config, ...agent }: Item): object {
  const { tools, ...rest } = (config ?? {}) as { readonly tools?: readonly AgentTool[] | null };
  return {
    ...agent,
    config: {
      ...rest,
      tools: tools?.map(({ tool, config, sort_order, review_requirement }) => ({
        tool: tool.slug,
        sort_order,
        require_review: review_requirement === 'required',
        ...(config !== null && { config_json: JSON.stringify(config) }),
      })),
    },
  };
}

interface AgentTool {
  readonly tool: { readonly slug: string };
  readonly config: object | null;
  readonly sort_order: number;
  readonly review_requirement: string;
}
