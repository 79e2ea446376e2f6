import { enqueue } from '../../platform/db/queue/outbox.ts';
import type { Entries } from '../../platform/hooks.ts';
import { RUN_ENDED } from './runs/state/outbox-topics.ts';
import { insertAgent } from './store.ts';
import type { ToolSetting } from './tools/rules.ts';

/** A mutating tool, so that each call waits for an approval. */
const TOOLS: readonly ToolSetting[] = [
  { tool: 'create_artifact', review_requirement: 'required', config: null, sort_order: 0 },
];

/** The agent of the demo account. */
export const demo: Entries = {
  demoAgent: async (tx, { accountId, roleId, ...agent }) => {
    const { id, actor_id: actorId } = await insertAgent(tx, {
      ...agent,
      account_id: accountId,
      role_id: roleId,
      description: 'Answers when it is mentioned.',
      category_code: 'general',
      trigger_type: 'chat',
      system_prompt: 'You are a helpful colleague. Answer briefly.',
      tools: TOOLS,
    });
    return { id, actorId };
  },
  demoRunEnded: (tx, runId) => enqueue(tx, RUN_ENDED, { run_id: runId }),
};
