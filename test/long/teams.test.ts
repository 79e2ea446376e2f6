/** The members of a group join thousands of cases, whatever dies in the middle. */

import { sql } from 'kysely';
import t from 'tap';
import { createAccount } from '../../src/core/accounts/account/accounts.ts';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { createGroup } from '../../src/core/accounts/groups/groups.ts';
import { followTeam } from '../../src/core/conversations/cases/follow-team.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { startChild } from '../support/child.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const CASES = 3_000;
const MEMBERS = 3;

t.test(
  'a process that is killed while members join leaves the rest to others, and nothing twice',
  async (t) => {
    const { url } = await createTestDatabase(t);
    const database = await openDatabase({ url, log: createLog('silent') });
    t.teardown(() => database.close());
    const groupId = await database.transaction(async (tx) => {
      const { account, roles } = await createAccount(tx, { name: 'Team' });
      const accountId = account.id;
      const members: string[] = [];
      for (let n = 0; n < MEMBERS; n++) {
        const person = {
          accountId,
          name: `Person ${n}`,
          email: `person-${n}@example.com`,
          roleId: roles.member.id,
        };
        members.push((await createUser(tx, person)).user.id);
      }
      const group = await createGroup(tx, { accountId, name: 'Team', members });
      await sql`
      INSERT INTO conversations (id, account_id, type, audience, workflow_status, team_group_id)
      SELECT 'cnv_' || lpad(n::text, 24, '0'), ${accountId}, 'group', 'customer', 'open', ${group.id}
      FROM generate_series(1, ${CASES}) n`.execute(tx.kysely);
      return group.id;
    });
    const joined = async () => {
      const { rows } = await sql<{ rows: number; pairs: number; owners: number }>`
      SELECT count(*)::int AS rows, count(DISTINCT (conversation_id, actor_id))::int AS pairs,
        count(*) FILTER (WHERE role = 'owner')::int AS owners
      FROM participants WHERE via_group_id = ${groupId} AND membership = 'active'`.execute(database.kysely);
      return rows[0]!;
    };
    const all = CASES * MEMBERS;
    const child = startChild(t, 'team-child.ts', [url, groupId]);
    child.output.catch(() => {});
    await until(async () => (await joined()).rows > 0, { what: 'the first part' });
    await child.kill('SIGKILL');
    const { rows } = await joined();
    t.ok(rows > 0 && rows < all, `${rows} of ${all} have joined`);

    await Promise.all([1, 2, 3].map(() => followTeam(database, { group_id: groupId })));
    t.strictSame(await joined(), { rows: all, pairs: all, owners: CASES });
    const audited = (action: string) =>
      database.kysely
        .selectFrom('audit_events')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('action', '=', action)
        .executeTakeFirstOrThrow();
    t.equal(Number((await audited('participant.added')).count), all, 'each is audited once');
    await followTeam(database, { group_id: groupId });
    t.equal(Number((await audited('participant.added')).count), all, 'nothing is left to do');
    t.strictSame(
      await database.kysely
        .selectFrom('outbox')
        .select('id')
        .where('topic', '=', 'participants.added')
        .execute(),
      [],
      'none of them is notified of it',
    );

    await database.kysely.deleteFrom('group_members').where('group_id', '=', groupId).execute();
    await Promise.all([1, 2].map(() => followTeam(database, { group_id: groupId })));
    t.strictSame(await joined(), { rows: 0, pairs: 0, owners: 0 });
    t.equal(Number((await audited('participant.removed')).count), all);
  },
);
