import type { AgentRun, ContinueRunBody } from '@parley/protocol/resources/agent-run.ts';
import type { FollowHost } from '../live/follow-host.ts';
import { LoadedObject, UNREAD } from '../live/loaded-object.ts';
import type { FollowedRun } from './followed-run.ts';
import type { RunSnapshot } from './run-snapshot.ts';

/** The run of an agent, which stays up to date until it has ended or is closed. */
export class Run extends LoadedObject<RunSnapshot, FollowedRun> {
  /** The id of the run. */
  readonly id: string;

  /** Use Client.run. */
  constructor(host: FollowHost, id: string) {
    super(NOTHING, host, async ({ set }) => {
      const { FollowedRun } = await import('./followed-run.ts');
      return new FollowedRun(host, id, set);
    });
    this.id = id;
  }

  /** Executes a call that waits. All methods reject as Client.fetch does. */
  approve(actionId: string, reason?: string): Promise<AgentRun> {
    return this.decide([{ action_id: actionId, approve: true, reason: reason ?? null }]);
  }

  /** Refuses a call that waits; the model is given the reason. */
  reject(actionId: string, reason?: string): Promise<AgentRun> {
    return this.decide([{ action_id: actionId, approve: false, reason: reason ?? null }]);
  }

  /** Decides about several calls at once. */
  readonly decide: (decisions: ContinueRunBody['decisions']) => Promise<AgentRun> = this.via('decide');

  /** Ends the run. Resolves when it has ended. */
  readonly cancel: () => Promise<AgentRun> = this.via('cancel');
}

/** The snapshot before anything is known. */
export const NOTHING: RunSnapshot = {
  ...UNREAD,
  run: null,
  text: '',
  messageId: null,
  steps: [],
  actions: [],
  waiting: [],
  costUsd: null,
};
