import { type Item, isStatus, type Section } from '../administration/section.ts';
import { AGENT_TEXTS, START_TEXTS } from '../administration/texts/agent-texts.ts';
import { texts } from '../texts/texts.ts';
import { AgentTrial } from './agent-trial.tsx';
import { costOf } from './run-cost.ts';
import { RunTotals } from './run-totals.tsx';

/** Agents, their runs, and their tools. */
export const AGENT_SECTIONS: readonly Section[] = [
  {
    slug: 'agents',
    texts: AGENT_TEXTS,
    begin: () => ({ trigger_type: 'chat' }),
    title: texts.agents.title,
    one: texts.agents.one,
    about: texts.agents.about,
    list: 'list_agents',
    get: 'get_agent',
    create: 'create_agent',
    update: 'update_agent',
    include: { get: ['config', 'tools', 'role'] },
    columns: ['name', 'trigger_type', 'status', 'category_code'],
    omit: ['role_id', 'actor_id', 'avatar_url'],
    asBody: agentBody,
    actions: [
      { label: texts.agents.start, operation: 'trigger_agent_run', shownIn: 'runs', texts: START_TEXTS },
      {
        label: texts.agents.delete,
        operation: 'delete_agent',
        when: ({ editability }) => editability === 'editable',
        warning: texts.agents.deleteWarning,
        isDanger: true,
        removes: true,
      },
    ],
    parts: [
      {
        title: texts.agents.runs,
        list: 'list_agent_runs',
        columns: ['created_at', 'trigger_type', 'status', 'duration_ms', 'error_message'],
        shownIn: 'runs',
      },
      {
        title: texts.agents.occurrences,
        list: 'list_agent_occurrences',
        columns: ['due_at', 'outcome', 'reason'],
      },
    ],
    More: AgentTrial,
  },
  {
    slug: 'runs',
    texts: {},
    title: texts.agents.allRuns,
    one: texts.agents.run,
    about: texts.agents.aboutRuns,
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
        label: texts.agents.stop,
        operation: 'cancel_agent_run',
        when: isStatus('pending', 'running', 'awaiting_input', 'awaiting_approval'),
        warning: texts.agents.stopWarning,
        isDanger: true,
      },
    ],
    parts: [
      {
        title: texts.agents.steps,
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
        title: texts.agents.calls,
        field: 'actions',
        columns: ['tool', 'status', 'arguments', 'result', 'error_message'],
      },
    ],
    More: RunTotals,
  },
  {
    slug: 'tools',
    texts: {},
    title: texts.agents.tools,
    one: texts.agents.tool,
    about: texts.agents.aboutTools,
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
