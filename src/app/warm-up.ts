import type { Database } from '../db/database.ts';
import type { Http } from '../http/pipeline.ts';
import { insertMessages } from '../messages/timeline/insert-store.ts';
import { readHeads, readSent } from '../messages/timeline/timeline-store.ts';
import { readFeedRows } from '../notifications/feed-store.ts';
import { newId } from '../protocol/ids.ts';
import { CURRENT_VERSION } from '../protocol/versions.ts';
import type { Access } from './access.ts';

/**
 * Runs the statements of the most frequent requests once on each connection that they use, over nothing: they write no
 * row. The first use of a statement costs a new process of Postgres some ten milliseconds, for its catalogues and its
 * plan, and validators take as long to compile.
 */
export async function warmUp(
  database: Database,
  directory: Access['directory'],
  http: Pick<Http, 'warmUp'>,
): Promise<void> {
  const none = newId('conversation');
  const timeline = { conversationId: none, after: 0, before: 1, limit: 1, forCustomer: false } as const;
  const feed = { direction: 'next', after: null, fetch: 1, search: null } as const;
  const statements = Promise.all([
    ...database.writers.map((writer) => insertMessages(writer, [])),
    readHeads(database.pipeline, [none]),
    ...database.readers.map((reader) => readSent(reader, { ...timeline, order: 'newest_first' })),
    // It takes the readers in turn.
    ...database.readers.map(() => readFeedRows(database, none, {}, feed)),
    directory.facts(none),
  ]);
  // Meanwhile Postgres works.
  http.warmUp(CURRENT_VERSION);
  await statements;
}
