import { AgentRun } from '@parley/protocol/resources/agent-run.ts';
import { InProcess } from '../../api/pipeline/in-process.ts';
import type { ReadEventData } from '../../core/features/account-event.ts';
import type { Feature } from '../../core/features/feature.ts';
import { readRuns } from '../../core/resources/run.ts';
import { handle } from '../../platform/db/queue/topic.ts';
import { GuardedFetch } from '../../platform/outbound/guarded-fetch.ts';
import { artifactRoutes } from './artifact-routes.ts';
import { demo } from './demo.ts';
import { holdings } from './holdings.ts';
import { agentMetrics } from './metrics.ts';
import { ModelTiers, providersOf } from './models/tiers.ts';
import { Replies } from './replies/replies.ts';
import { agentRoutes } from './routes.ts';
import { runRoutes } from './runs/control/routes.ts';
import { followApproval } from './runs/effects/approval-notifications.ts';
import { runEvents } from './runs/effects/events.ts';
import { onRunEnded } from './runs/effects/on-run-ended.ts';
import { Runner } from './runs/execution/runner.ts';
import { onQuestionEnded, withdrawQuestions } from './runs/state/answers.ts';
import { RUN_APPROVAL, RUN_DUE, RUN_ENDED } from './runs/state/outbox-topics.ts';
import { readEndedRun } from './runs/state/store.ts';
import { ToolCatalogue } from './tools/catalogue.ts';
import { toolRoutes } from './tools/routes.ts';
import { Toolbox } from './tools/toolbox.ts';
import { removeOldOccurrences } from './triggers/occurrence-store.ts';
import { occurrenceRoutes } from './triggers/routes.ts';
import { openSchedules } from './triggers/schedule.ts';
import { Triggers } from './triggers/triggers.ts';

const readRunData: ReadEventData = async ({ database }, ids) => {
  const runs = await readRuns(database, ids);
  return new Map([...runs].map(([id, value]) => [id, { schema: AgentRun, value }]));
};

export const agents: Feature = {
  hooks: {
    eventSource: runEvents,
    eventReaders: { 'agent_run.completed': readRunData },
    eventTopic: RUN_ENDED.name,
    holdings,
    modelProviders: ({ models }) => providersOf(models),
    operationTexts: new URL('operations.md', import.meta.url),
    guide: { name: 'agent', file: new URL('guide.md', import.meta.url), place: 64 },
    ...demo,
  },
  open(node) {
    const { config, database, directory, watch, engine, store, guard, log, disposer } = node;
    const metrics = agentMetrics(node.metrics);
    const triggers = new Triggers(node);
    return {
      effects: {
        completed: (messages) => triggers.onMessages(messages),
        changed: ({ changes }) => triggers.changed(changes),
        conversationCreated: (created) => triggers.onConversationCreated(created),
        async happened(event) {
          if (event.type === 'message.question_ended') await onQuestionEnded(database, event.resourceId);
          await triggers.happened(event);
        },
      },
      join({ writePath, lockedWrites, routes, happened }) {
        // The tools are derived from the routes, which include the routes of the tools.
        const catalogue = new ToolCatalogue(routes);
        let runner: Runner | undefined;
        return {
          routes: {
            settings: [
              ...agentRoutes(node, catalogue),
              ...runRoutes({ database, directory, catalogue }),
              ...occurrenceRoutes(database),
              ...artifactRoutes(node),
              ...toolRoutes(catalogue),
            ],
          },
          handlers: [
            handle(RUN_DUE, async (due) => runner?.due(due)),
            handle(RUN_APPROVAL, (due) => database.transaction((tx) => followApproval(tx, catalogue, due))),
            handle(RUN_ENDED, async ({ run_id: id }, isRepeated) => {
              const run = await readEndedRun(database, id);
              if (run === undefined) return;
              await onRunEnded({ database, writePath }, run);
              if (run.status !== 'completed') return withdrawQuestions(database, id);
              const { account_id: accountId, actor_id: by, conversation_id, completed_at: at } = run;
              const completed = {
                type: 'agent_run.completed',
                accountId,
                conversationId: conversation_id,
                resourceId: id,
                at,
                by,
                runId: id,
                input: { run_id: id, ...(conversation_id !== null && { conversation_id }) },
                data: async () => (await readRunData({ database, files: store }, [id])).get(id),
              };
              await happened(completed, isRepeated);
            }),
          ],
          tidy: () => removeOldOccurrences(database),
          serve({ http, server }) {
            const { models } = config;
            // Tools call the API without a connection.
            const caller = new InProcess(http, server.limits);
            const web = new GuardedFetch(guard);
            const replies = new Replies({ database, engine, writePath, lockedWrites, log });
            disposer.add('replies of agents', replies, (it) => it.close());
            runner = new Runner({
              ...node,
              metrics,
              replies,
              tiers: new ModelTiers(models),
              toolbox: new Toolbox({ database, store, directory, catalogue, caller, web }),
            });
            disposer.add('runs of agents', runner, (it) => it.close());
            disposer.add('schedules of agents', openSchedules(database, watch, log), (it) => it.close());
          },
          drain: async (ms) => runner?.drain(ms),
        };
      },
    };
  },
};
