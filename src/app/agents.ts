import { followApproval } from '../features/agents/runs/approval-notifications.ts';
import { onRunEnded } from '../features/agents/runs/on-run-ended.ts';
import { openRunner } from '../features/agents/runs/open-runner.ts';
import { RUN_APPROVAL, RUN_DUE, RUN_ENDED } from '../features/agents/runs/outbox-topics.ts';
import type { ToolCatalogue } from '../features/agents/tools/catalogue.ts';
import { openSchedules } from '../features/agents/triggers/schedule.ts';
import type { Triggers } from '../features/agents/triggers/triggers.ts';
import type { EventRecorder } from '../features/webhooks/record-events.ts';
import { handle } from '../platform/db/topic.ts';
import { InProcess } from '../platform/http/in-process.ts';
import type { AddressGuard } from '../platform/outbound/address-guard.ts';
import type { Access } from './access.ts';
import type { Data } from './data.ts';
import type { Messaging } from './messaging.ts';
import type { PartOptions } from './part.ts';
import type { Serving } from './serving.ts';

export interface AgentsOptions extends PartOptions {
  readonly triggers: Triggers;
  readonly recorder: EventRecorder;
  readonly catalogue: ToolCatalogue;
  /** Decides which hosts this node may connect to. */
  readonly guard: AddressGuard;
}

/**
 * Opens everything that runs agents on this node. Their tools call the API without a connection.
 */
export function openAgents(
  { config, log, metrics, disposer, triggers, recorder, catalogue, guard }: AgentsOptions,
  { database, watch, engine, store }: Data,
  { rights, authenticator, directory }: Access,
  { writePath, lockedWrites }: Messaging,
  { http, server }: Serving,
) {
  const runner = openRunner({
    ...{
      database,
      watch,
      engine,
      rights,
      authenticator,
      directory,
      store,
      writePath,
      lockedWrites,
      metrics,
      log,
    },
    ...{ models: config.models, guard, catalogue },
    caller: new InProcess(http, server.limits),
  });
  disposer.add('runs of agents', runner, (it) => it.close());
  disposer.add('schedules of agents', openSchedules(database, watch, log), (it) => it.close());
  const endpointOf = (tool: string) => catalogue.endpoints.get(tool);
  const handlers = [
    handle(RUN_DUE, (due) => runner.due(due)),
    handle(RUN_APPROVAL, (due) => followApproval({ database, endpointOf }, due)),
    handle(RUN_ENDED, async (ended, isRepeated) => {
      await onRunEnded({ database, writePath }, ended);
      await recorder.runEnded(ended, isRepeated);
      await triggers.runEnded(ended);
    }),
  ];
  return { runner, handlers };
}
