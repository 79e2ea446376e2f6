import { PlatformEvent } from '@parley/protocol/resources/platform-event.ts';
import { parseTraceparent } from '@parley/protocol/traceparent.ts';
import { forgetAnswers } from '../../api/access/idempotency.ts';
import type { EventData } from '../../core/features/account-event.ts';
import type { Feature } from '../../core/features/feature.ts';
import type { ErasedPerson, Holdings } from '../../core/resources/holdings.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { pages } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { handle } from '../../platform/db/queue/topic.ts';
import { eventRoutes } from './event-routes.ts';
import { purgeEvents, readEvents } from './event-store.ts';
import { PLATFORM_EVENT, type PlatformEventRow, presentEvent } from './platform-event.ts';

const holdings: Holdings = {
  tables: { platform_events: { account: 'content', created_by: 'erased', exported: 'events' } },
  erasePerson: eraseFromEvents,
  exportsOfPerson: {
    async *events(db, _files, { account_id, id }) {
      const read = (after: string, size: number) => db.query(READ_RAISED_BY, account_id, id, after, size);
      for await (const rows of pages(500, '', read, (row) => row.id)) yield rows.map(presentEvent);
    },
  },
};

export const platformEvents: Feature = {
  hooks: {
    eventReaders: {
      '*': async ({ database }, ids) =>
        new Map((await readEvents(database, ids)).map((row) => [row.id, dataOf(row)])),
    },
    eventTopic: PLATFORM_EVENT.name,
    holdings,
    operationTexts: new URL('operations.md', import.meta.url),
  },
  open: ({ database }) => ({
    join: ({ happened }) => ({
      routes: { settings: eventRoutes(database) },
      handlers: [
        handle(PLATFORM_EVENT, async ({ event_id, traceparent }, isRepeated) => {
          const [event] = await readEvents(database, [event_id]);
          if (event === undefined) return;
          const { id, account_id: accountId, type, created_by: by, created_at: at } = event;
          const { resource_type, resource_id, data } = event;
          const raised = {
            type,
            accountId,
            conversationId: null,
            resourceId: id,
            eventId: id,
            at,
            by,
            runId: null,
            trace: parseTraceparent(traceparent),
            input: { event_id: id, resource_type, resource_id, data },
            data: async () => dataOf(event),
          };
          await happened(raised, isRepeated);
        }),
      ],
      tidy: () => purgeEvents(database),
    }),
  }),
};

function dataOf(row: PlatformEventRow): EventData {
  return { schema: PlatformEvent, value: presentEvent(row) };
}

async function eraseFromEvents(
  database: Database,
  { accountId, id, texts, signal }: ErasedPerson,
): Promise<void> {
  // The texts as they appear inside a JSON string.
  const quoted = [id, ...texts].map((text) => JSON.stringify(text).slice(1, -1));
  for (let blanked = EVENTS_AT_ONCE; blanked === EVENTS_AT_ONCE; ) {
    signal.throwIfAborted();
    blanked = await database.transaction(async (tx) => {
      const rows = await tx.query(BLANK_NAMING, accountId, quoted, EVENTS_AT_ONCE);
      const ids = rows.map((row) => row.id);
      await forgetAnswers(tx, ids);
      return ids.length;
    });
  }
}

const EVENTS_AT_ONCE = 500;

const READ_RAISED_BY = statement<
  [accountId: string, actorId: string, after: string, limit: number],
  PlatformEventRow
>('read-platform-events-raised-by')`
    SELECT * FROM platform_events
    WHERE account_id = $1 AND created_by = $2 AND id > $3 ORDER BY id LIMIT $4`;

// The rows stay, so that a repetition does not bring the data back.
const BLANK_NAMING = statement<[accountId: string, texts: readonly string[], limit: number], { id: string }>(
  'blank-platform-events-naming',
)`
    UPDATE platform_events SET data = '{}', resource_type = NULL, resource_id = NULL
    WHERE id IN (
      SELECT id FROM platform_events e
      WHERE account_id = $1 AND EXISTS (SELECT FROM unnest($2::text[]) AS text
        WHERE position(text IN concat_ws(' ', e.data::text, e.resource_id)) > 0)
      ORDER BY id LIMIT $3 FOR UPDATE)
    RETURNING id`;
