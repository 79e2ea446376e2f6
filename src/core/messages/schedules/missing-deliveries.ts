import type { Querier } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import type { Logger } from '../../../platform/log.ts';
import { SEND_SCHEDULED } from './schedule-store.ts';

/** A message that is overdue by so many milliseconds should have been tried. */
const MISSING_AFTER_MS = 60_000;
const LOOK_EVERY_MS = 60_000;
/** Conversations per look. */
const MOST_AT_ONCE = 1_000;

/**
 * Looks at the start, and once a minute, for conversations with overdue messages and without a job,
 * and adds their deliveries. A job is given up after three days of failures. A node of the previous
 * version, which found such messages itself, may end without adding a job.
 */
export function openMissingDeliveries(database: Querier, log: Logger): Loop {
  const loop = new Loop({
    intervalMs: LOOK_EVERY_MS,
    run: async () => {
      const added = await database.query(ADD_MISSING);
      if (added.length > 0) log.warn({ conversations: added.length }, 'added missing deliveries');
    },
    onError: (error) => log.warn({ err: error }, 'looking for missing deliveries failed'),
  });
  loop.wake();
  return loop;
}

const ADD_MISSING = statement<[], { readonly key: string }>('add-missing-deliveries')`
    INSERT INTO jobs (key, topic, payload, due_at)
    SELECT DISTINCT m.conversation_id, '${SEND_SCHEDULED.name}',
      jsonb_build_object('conversation_id', m.conversation_id), statement_timestamp()
    FROM messages m
    WHERE m.status = 'scheduled' AND m.scheduled_at < statement_timestamp() - interval '${MISSING_AFTER_MS} ms'
      AND NOT EXISTS (SELECT FROM jobs j WHERE j.key = m.conversation_id)
    LIMIT ${MOST_AT_ONCE}
    ON CONFLICT (key) DO NOTHING
    RETURNING key`;
