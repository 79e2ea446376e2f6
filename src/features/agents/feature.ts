import { AgentRun } from '../../contract/protocol/resources/agent-run.ts';
import type { EventReads } from '../../core/events/event-source.ts';
import type { ReadEventData } from '../../core/features/account-event.ts';
import type { Core, Feature } from '../../core/features/feature.ts';
import { readRuns } from '../../core/resources/run.ts';
import { handle } from '../../platform/db/queue/topic.ts';
import { InProcess } from '../../platform/http/pipeline/in-process.ts';
import { artifactRoutes } from './artifact-routes.ts';
import { demo } from './demo.ts';
import { holdings } from './holdings.ts';
import { providersOf } from './models/tiers.ts';
import { agentRoutes } from './routes.ts';
import { runRoutes } from './runs/control/routes.ts';
import { followApproval } from './runs/effects/approval-notifications.ts';
import { runEvents } from './runs/effects/events.ts';
import { onRunEnded } from './runs/effects/on-run-ended.ts';
import { openRunner } from './runs/execution/open-runner.ts';
import { RUN_APPROVAL, RUN_DUE, RUN_ENDED, type RunEnded } from './runs/state/outbox-topics.ts';
import { readCompletedRun } from './runs/state/store.ts';
import { ToolCatalogue } from './tools/catalogue.ts';
import { toolRoutes } from './tools/routes.ts';
import { removeOldOccurrences } from './triggers/occurrence-store.ts';
import { occurrenceRoutes } from './triggers/routes.ts';
import { openSchedules } from './triggers/schedule.ts';
import { Triggers } from './triggers/triggers.ts';

const readRunData: ReadEventData = async ({ database }, ids) => {
  const runs = await readRuns(database, ids);
  return new Map([...runs].map(([id, value]) => [id, { schema: AgentRun, value }]));
};

export const agents: Feature = {
  events: [runEvents],
  eventData: { 'agent_run.completed': readRunData },
  eventTopics: [RUN_ENDED.name],
  holdings,
  providers: ({ models }) => providersOf(models),
  demo,
  open(node) {
    const { config, database, watch, engine, store, avatars, guard, metrics, log, disposer } = node;
    const { rights, authenticator, directory } = node;
    const triggers = new Triggers({ database, directory, rights });
    return {
      effects: {
        completed: (messages) => triggers.onMessages(messages),
        changed: ({ changes }) => triggers.changed(changes),
        conversationCreated: (created) => triggers.onConversationCreated(created),
        happened: (event) => triggers.happened(event),
      },
      join({ writePath, lockedWrites, routes, happened }) {
        // The tools are derived from the routes, which include the routes of the tools.
        const catalogue = new ToolCatalogue(routes);
        const endpointOf = (tool: string) => catalogue.endpoints.get(tool);
        let runner: ReturnType<typeof openRunner> | undefined;
        return {
          routes: {
            settings: [
              ...agentRoutes({ database, catalogue, avatars }),
              ...runRoutes({ database, directory, catalogue }),
              ...occurrenceRoutes({ database }),
              ...artifactRoutes({ database, directory, files: store }),
              ...toolRoutes(catalogue),
            ],
          },
          handlers: [
            handle(RUN_DUE, async (due) => runner?.due(due)),
            handle(RUN_APPROVAL, (due) => followApproval({ database, endpointOf }, due)),
            handle(RUN_ENDED, async (ended, isRepeated) => {
              await onRunEnded({ database, writePath }, ended);
              await announce({ database, files: store }, happened, ended, isRepeated);
            }),
          ],
          tidy: () => removeOldOccurrences(database),
          serve({ http, server }) {
            runner = openRunner({
              database,
              watch,
              engine,
              rights,
              authenticator,
              directory,
              store,
              metrics,
              log,
              writePath,
              lockedWrites,
              catalogue,
              models: config.models,
              guard,
              // Tools call the API without a connection.
              caller: new InProcess(http, server.limits),
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

/** Announces the end of a completed run. */
async function announce(
  from: EventReads,
  happened: Core['happened'],
  { run_id: id }: RunEnded,
  isRepeated: boolean,
): Promise<void> {
  const run = await readCompletedRun(from.database, id);
  if (run === undefined) return;
  const { account_id: accountId, actor_id: by, conversation_id: conversationId, completed_at: at } = run;
  const ended = {
    type: 'agent_run.completed',
    accountId,
    conversationId,
    resourceId: id,
    at,
    by,
    runId: id,
    input: { run_id: id, ...(conversationId !== null && { conversation_id: conversationId }) },
    data: async () => (await readRunData(from, [id])).get(id),
  };
  await happened(ended, isRepeated);
}
