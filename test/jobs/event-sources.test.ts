/** No durable event is left out, by its face or by one half of its source. */

import { type ChangeEventName, EVENTS } from '@parley/protocol/socket/events.ts';
import t from 'tap';
import { HOOKS } from '../../src/app/features.ts';
import type { conversationEvents } from '../../src/core/conversations/events.ts';
import type { CompleteSource } from '../../src/core/events/event-source.ts';
import { eventSources } from '../../src/core/features/event-sources.ts';
import type { runEvents } from '../../src/features/agents/runs/effects/events.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { log } from '../support/timeline.ts';

type IsA<A, B> = A extends B ? true : false;

// A source that can publish its events and not catch up, or the other way round, is none.
type RunSource = CompleteSource<'agent_run.updated'>;
true satisfies IsA<typeof runEvents, RunSource>;
false satisfies IsA<Omit<typeof runEvents, 'read'>, RunSource>;
false satisfies IsA<Omit<typeof runEvents, 'changed'>, RunSource>;
false satisfies IsA<
  Omit<typeof runEvents, 'changed'> & Pick<typeof conversationEvents, 'changed'>,
  RunSource
>;

t.test('every durable event has one source', async (t) => {
  const durable = Object.entries(EVENTS).filter(
    ([, { order }]) => order === 'updated' || order === 'durable',
  );
  const sourced = eventSources(HOOKS).flatMap(({ events }) => [...events]);
  t.strictSame(sourced.sort(), durable.map(([event]) => event as ChangeEventName).sort());
});

t.test('an index leads from each stream to what changed in it', async (t) => {
  const { url } = await createTestDatabase(t);
  const database = await openDatabase({ url, log });
  t.teardown(() => database.close());
  for (const { arm } of eventSources(HOOKS).flatMap(({ changed }) => Object.values(changed))) {
    const rows = arm.rows.replaceAll('s.id', "'a'").replaceAll('$3', "'1'").replaceAll('$5', "'2026-11-22'");
    const client = await database.pool.connect();
    try {
      // The table is empty: without these a plan is not worth an index.
      await client.query('SET enable_seqscan = off; SET enable_bitmapscan = off');
      const { rows: plan } = await client.query(`EXPLAIN SELECT FROM ${rows} LIMIT 10`);
      const text = plan.map((line) => line['QUERY PLAN']).join('\n');
      // The index of an actor's memberships stops at the actor.
      const condition =
        arm.part === 'memberships' ? /Index Cond: .* = 'a'/ : /Index Cond: .*\bchanged_in >= '1'/;
      t.match(text, condition, `${arm.part}: ${text}`);
    } finally {
      client.release(true);
    }
  }
});
