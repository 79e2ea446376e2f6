import { newId } from '@parley/protocol/ids.ts';
import { sql } from 'kysely';
import t from 'tap';
import { hasRoomFor } from '../../src/features/agents/runs/execution/run-limit.ts';
import { findOverdue } from '../../src/features/agents/runs/state/lease-store.ts';
import { startRun } from '../../src/features/agents/runs/state/start.ts';
import { insertAgent } from '../../src/features/agents/store.ts';
import { createGround } from '../support/timeline.ts';

t.test(
  'one account may fill three quarters of a node, and accounts with few runs still find room',
  async (t) => {
    const running = new Map<string, { run: { account_id: string } }>();
    const takesUp = (accountId: string, count: number) => {
      let taken = 0;
      for (; taken < count && hasRoomFor(accountId, running, 8); taken++) {
        running.set(newId('agentRun'), { run: { account_id: accountId } });
      }
      return taken;
    };
    t.equal(takesUp('greedy', 100), 6);
    t.equal(takesUp('modest', 1), 1);
    t.notOk(hasRoomFor('greedy', running, 8));
    t.equal(takesUp('modest', 100), 1, 'a quarter');
    t.notOk(hasRoomFor('third', running, 8), 'there are no more places');
  },
);

t.test(
  'waiting runs are claimed in turn by account, however many one account has started before',
  async (t) => {
    const { database, accountId: greedy } = await createGround(t);
    const modest = newId('account');
    await database.kysely.insertInto('accounts').values({ id: modest, name: 'Pier' }).execute();
    const starts = async (accountId: string, count: number): Promise<string[]> =>
      database.transaction(async (tx) => {
        const fields = { name: 'Mate', slug: 'mate', category_code: 'ops', trigger_type: 'manual' } as const;
        const agent = await insertAgent(tx, { account_id: accountId, ...fields });
        const ids: string[] = [];
        for (let n = 0; n < count; n++) {
          const trigger = { type: 'manual', key: newId('message'), input: null, by: null } as const;
          const place = { conversationId: null, messageId: null, depth: 0, rootId: null };
          ids.push((await startRun(tx, agent, { ...trigger, ...place }))!.id);
        }
        return ids;
      });
    const many = await starts(greedy, 150);
    const [first, second] = await starts(modest, 2);
    await database.kysely
      .updateTable('agent_runs')
      .set({ updated_at: sql<string>`clock_timestamp() - interval '5 s'` })
      .execute();
    const { unclaimed } = await findOverdue(database);
    t.equal(unclaimed.length, 100);
    t.match(
      unclaimed
        .slice(0, 4)
        .map(({ run_id }) => run_id)
        .sort(),
      [many[0], many[1], first, second].sort(),
    );
    t.ok(unclaimed.every(({ run_id, account_id }) => (account_id === greedy) === many.includes(run_id)));
  },
);
