import { eventSource } from '../../../../core/events/event-source.ts';
import type { DomainEvent } from '../../../../core/frames/publish.ts';
import { presentRun, type RunRow } from '../../../../core/resources/run.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';
import { mayReceiveEvents } from '../state/store.ts';

/**
 * `agent_run.updated`, unexpanded, on the feed of the run's triggering actor
 * (docs/realtime.md#events), unless it has lost access to the run's conversation.
 */
export const runEvents = eventSource({
  events: ['agent_run.updated'],
  async read({ database }, changes) {
    const rows = await database.query(
      READ_TRIGGERED,
      changes.map(({ id }) => id),
    );
    return rows.map(runEvent);
  },
  changed: {
    actor: {
      arm: { part: 'runs', rows: 'agent_runs r WHERE r.triggered_by = s.id AND r.changed_in >= $3::xid8' },
      async since({ database }, actorIds, since) {
        const rows = await database.query(READ_CHANGED, actorIds, since.xid);
        return rows.map(runEvent);
      },
    },
  },
});

type TriggeredRun = RunRow & { readonly triggered_by: string };

function runEvent(row: TriggeredRun): DomainEvent {
  return {
    event: 'agent_run.updated',
    stream: row.triggered_by,
    conversationId: null,
    sequence: 0,
    resource: row.id,
    at: row.updated_at,
    team: presentRun(row),
    customer: undefined,
  };
}

const SELECT = `
    SELECT r.* FROM agent_runs r`;

const READ_TRIGGERED = statement<[ids: readonly string[]], TriggeredRun>('read-runs-for-events')`
    ${SELECT} WHERE r.id = ANY($1) AND r.triggered_by IS NOT NULL AND ${mayReceiveEvents('r.triggered_by')}`;

const READ_CHANGED = statement<[actorIds: readonly string[], sinceXid: string], TriggeredRun>(
  'read-changed-runs',
)`
    ${SELECT}
    WHERE r.triggered_by = ANY($1) AND r.changed_in >= $2::xid8 AND ${mayReceiveEvents('r.triggered_by')}
    ORDER BY r.triggered_by, r.updated_at, r.id`;
