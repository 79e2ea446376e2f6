import { prepareForms } from '@parley/protocol/forms/forms.ts';
import { newId } from '@parley/protocol/ids.ts';
import { EVENT_DATA } from '@parley/protocol/socket/event-data.ts';
import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import type { Http } from '../api/pipeline/pipeline.ts';
import { loadFacts } from '../core/conversations/directory/directory.ts';
import { insertMessages } from '../core/messages/timeline/insert-store.ts';
import { readHeads, readSent } from '../core/messages/timeline/timeline-store.ts';
import { readFeedRows } from '../core/notifications/feed/feed-store.ts';
import { hasOffSockets } from '../core/notifications/settings/settings.ts';
import type { Database } from '../platform/db/connection/database.ts';
import type { Access } from './access.ts';

/**
 * Does the work that the first requests would wait for: runs the statements of the most frequent
 * requests once on each of their connections, and compiles the products of schemas. Leaves no row.
 * The first use of a statement costs a new process of Postgres some ten milliseconds, for its
 * catalogues and its plan.
 */
export async function warmUp(
  database: Database,
  { authenticator }: Pick<Access, 'authenticator'>,
  http: Pick<Http, 'warmUp'>,
): Promise<void> {
  const none = newId('conversation');
  const timeline = { conversationId: none, after: 0, before: 1, limit: 1, forCustomer: false } as const;
  const feed = { direction: 'next', after: null, fetch: 1, search: null } as const;
  const statements = Promise.all([
    ...database.writers.map((writer) => insertMessages(writer, [])),
    readHeads(database.pipeline, [none]),
    authenticator.warmUp(),
    ...database.readers.flatMap((reader) => [
      readSent(reader, { ...timeline, order: 'newest_first' }),
      loadFacts(reader, []),
      hasOffSockets(reader, none),
    ]),
    // The pool uses the readers in turn.
    ...database.readers.map(() => readFeedRows(database, none, {}, feed)),
  ]);
  // Done while Postgres works.
  http.warmUp(CURRENT_VERSION);
  for (const { data } of Object.values(EVENT_DATA)) prepareForms(data);
  await statements;
}
