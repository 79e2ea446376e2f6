import { PlatformEvent } from '../../contract/protocol/resources/platform-event.ts';
import { parseTraceparent } from '../../contract/protocol/traceparent.ts';
import type { EventData } from '../../core/features/account-event.ts';
import type { Feature } from '../../core/features/feature.ts';
import type { ErasedPerson, Holdings } from '../../core/resources/holdings.ts';
import { forgetAnswers } from '../../platform/access/idempotency.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { handle } from '../../platform/db/queue/topic.ts';
import { eventRoutes } from './event-routes.ts';
import { blankEventsNaming, purgeEvents, readEvents, readEventsRaisedBy } from './event-store.ts';
import { PLATFORM_EVENT } from './outbox-topics.ts';
import { type PlatformEventRow, presentEvent } from './platform-event.ts';

const holdings: Holdings = {
  tables: { platform_events: { account: 'content', created_by: 'erased', exported: 'events' } },
  erasePerson: eraseFromEvents,
  exportsOfPerson: {
    async *events(db, _files, { account_id, id }) {
      for await (const rows of readEventsRaisedBy(db, account_id, id)) yield rows.map(presentEvent);
    },
  },
};

export const platformEvents: Feature = {
  eventData: {
    '*': async ({ database }, ids) =>
      new Map((await readEvents(database, ids)).map((row) => [row.id, dataOf(row)])),
  },
  eventTopics: [PLATFORM_EVENT.name],
  holdings,
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
  for (let blanked = EVENTS_AT_ONCE; blanked === EVENTS_AT_ONCE; ) {
    signal.throwIfAborted();
    blanked = await database.transaction(async (tx) => {
      const ids = await blankEventsNaming(tx, accountId, [id, ...texts], EVENTS_AT_ONCE);
      await forgetAnswers(tx, ids);
      return ids.length;
    });
  }
}

const EVENTS_AT_ONCE = 500;
