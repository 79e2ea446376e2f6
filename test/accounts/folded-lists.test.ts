/** `q` of lists finds names in each of their forms (docs/contract.md#how-words-are-compared). */

import type { List } from '@parley/protocol/lists.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { ROLES } from '../../src/core/accounts/rights/roles.ts';
import { FOLDED } from '../../src/core/tables/folded-tables.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { isUnfolded } from '../../src/platform/db/connection/folded-table.ts';
import { createLog } from '../../src/platform/log.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { newAddress } from '../support/new-address.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const app = await startTestApp(t);
const { demo, database } = app;
const { call } = callsAt(app, NEWEST_VERSION);

/** A name of each class, and other ways to write it. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'Zoë Müller': ['zoe muller', 'MÜLL', 'Müller'.normalize('NFD')],
  'Łódź Ørsted': ['lodz', 'orsted', 'ŁÓDŹ'],
  ['Đà Nẵng'.normalize('NFD')]: ['da nang', 'Đà Nẵng'.normalize('NFC')],
  'Ægir Weißbach': ['aegir', 'weissb'],
  'Liefer\u00adschein': ['lieferschein', 'Liefer\u200bschein'],
  'محمد علی': ['مـحـمـد', 'مُحَمَّد', 'على'],
  ['김한국'.normalize('NFD')]: ['김한국', '한국'],
  'Hafen ٣٤': ['hafen 34'],
  'Sean O’Neil': ["o'neil"],
  '100%_\\': ['100%_\\', '0%'],
};

let slugs = 0;

interface Listed {
  /** The path of the list, to which `q` is added. */
  readonly list: string;
  readonly table: keyof typeof FOLDED;
  /** Creates a row of this name. */
  create(name: string): Promise<unknown>;
  /** Default: `name`. */
  readonly field?: string;
}

const LISTS: Readonly<Record<string, Listed>> = {
  users: {
    list: '/v1/users?',
    table: 'actors',
    create: async (name) => posted('/v1/users', { name, email: newAddress(), role_id: await roleId() }),
  },
  people: {
    list: '/v1/messaging/people?',
    table: 'actors',
    create: async (name) => posted('/v1/users', { name, email: newAddress(), role_id: await roleId() }),
  },
  customers: {
    list: '/v1/customers?',
    table: 'actors',
    create: (name) =>
      database.transaction((tx) => createCustomer(tx, { accountId: demo.account_id, name, email: null })),
  },
  groups: {
    list: '/v1/messaging/groups?',
    table: 'groups',
    create: (name) => posted('/v1/messaging/groups', { name, members: [] }),
  },
  roles: {
    list: '/v1/roles?',
    table: 'roles',
    create: (name) => posted('/v1/roles', { name, permissions: [] }),
  },
  agents: {
    list: '/v1/ai/agents?',
    table: 'agents',
    create: (name) =>
      posted('/v1/ai/agents', {
        name,
        slug: `agent-${slugs++}`,
        config: {},
        trigger_type: 'manual',
        category_code: 'support',
      }),
  },
  entities: {
    list: '/v1/entities?',
    table: 'entities',
    create: (name) => posted('/v1/entities', { name }),
  },
  conversations: {
    list: '/v1/messaging/conversations?',
    table: 'conversations',
    create: (title) =>
      posted('/v1/messaging/conversations', {
        type: 'group',
        title,
        participants: [{ type: 'user', actor_id: demo.users.ada.id }],
      }),
    field: 'title',
  },
  keys: {
    list: '/v1/api-keys?',
    table: 'keys',
    create: async (name) => posted('/v1/api-keys', { name, role_id: await roleId() }),
  },
};

for (const [kind, { list, table, create, field = 'name' }] of Object.entries(LISTS)) {
  t.test(`${kind}: at once, folded, and changed by a node of the version before`, async (t) => {
    for (const name of Object.keys(NAMES)) await create(name);
    const { name: rows, columns } = FOLDED[table];
    const found = async (q: string) => {
      const { status, body } = await call<List<Readonly<Record<string, unknown>>>>(
        'GET',
        `${list}q=${encodeURIComponent(q)}`,
      );
      if (status !== 200) throw new Error(JSON.stringify(body));
      return [...new Set(body.data.map((item) => item[field]))];
    };
    const findsAll = async (when: string) => {
      for (const [name, others] of Object.entries(NAMES)) {
        for (const q of [name, ...others]) t.strictSame(await found(q), [name], `${q}, ${when}`);
      }
    };
    const folded = () =>
      until(
        async () => {
          const unfolded = await database.pool.query(
            `SELECT FROM ${rows} WHERE ${isUnfolded(FOLDED[table])}`,
          );
          return unfolded.rowCount === 0;
        },
        { what: `folded words of all ${rows}` },
      );
    await findsAll('at once');
    await folded();
    await findsAll('folded');
    t.strictSame(await found('zoë mueller'), []);

    const change = `UPDATE ${rows} SET ${columns[0]} = $1 WHERE ${columns[0]} = $2`;
    await database.pool.query(change, ['Åse Müller', 'Zoë Müller']);
    t.strictSame(await found('ase mul'), ['Åse Müller']);
    t.strictSame(await found('zoe'), [], 'the words of before');
    await folded();
    t.strictSame(await found('ase mul'), ['Åse Müller']);
    t.strictSame(await found('zoe'), []);
    await database.pool.query(change, ['Zoë Müller', 'Åse Müller']);
  });
}

t.test('rows that wait behind many others are compared as they are', async (t) => {
  const { url } = await createTestDatabase(t);
  const alone = await openDatabase({ url, log: createLog('silent') });
  t.teardown(() => alone.close());
  await alone.pool.query(`INSERT INTO accounts (id, name) VALUES ('acc_1', 'A')`);
  await alone.pool.query(
    `INSERT INTO roles (id, account_id, name, created_at)
     SELECT 'rol_' || n, 'acc_1', 'Müller ' || n, now() - n * interval '1 s' FROM generate_series(1, 1500) n`,
  );
  const page = { direction: 'next', after: null, fetch: 10 } as const;
  const found = async (search: string) =>
    (await ROLES.readPage(alone, ['acc_1'], { ...page, search })).map(({ name }) => name);
  t.strictSame(await found('MÜLLER 1500'), ['Müller 1500']);
  t.equal((await found('muller')).length, 10);
});

async function posted(path: string, body: object): Promise<unknown> {
  const answer = await call('POST', path, { body });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}

async function roleId(): Promise<string> {
  const { body } = await call<List<{ readonly id: string }>>('GET', '/v1/roles?q=member');
  return body.data[0]!.id;
}
