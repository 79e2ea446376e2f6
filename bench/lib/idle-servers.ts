import { createAccount } from '../../src/core/accounts/account/accounts.ts';
import type { Listening } from '../controls/delivery-loop.ts';
import { seedConversations } from './conversations.ts';
import { type Dialect, PONGING_DIALECT, parleyDialect, SOCKET_IO_DIALECT } from './dialects.ts';
import { startPostgres } from './postgres.ts';
import { startProduct } from './product.ts';
import { RawSubscribers } from './raw-subscribers.ts';
import { ServerProcess } from './server-process.ts';
import type { Session } from './work.ts';

/** A server whose sockets are opened and stay idle: P7 and P8. */
export interface IdleServer {
  readonly name: string;
  readonly process: ServerProcess;
  /** The process id of our Postgres. */
  readonly postgresPid?: number;
  /** Makes accounts without any activity. */
  readonly seedAccounts?: (count: number) => Promise<void>;
  readonly open: (count: number) => Promise<RawSubscribers>;
}

/** Number of sockets that share a conversation. */
export const SOCKETS_A_CONVERSATION = 10;

/** Answers the runner's question for settled memory (servers/settled-memory.ts). */
const SETTLING = ['--expose-gc', '--import=./bench/servers/settled-memory.ts'];

/** Opens Parley: sockets of the demo account's key, one subscription each, ten a conversation. */
export async function openIdleParley({ disposer }: Session, most: number): Promise<IdleServer> {
  const { parley } = await startPostgres(disposer, ['parley']);
  const product = await startProduct(disposer, {
    databaseUrl: parley.url,
    env: { PARLEY_SOCKET_SOCKETS_PER_ACTOR: String(2 * most) },
    nodeFlags: SETTLING,
  });
  const { process, demo, headers, port } = product;
  const conversations = await seedConversations(product, parley, Math.ceil(most / SOCKETS_A_CONVERSATION));
  const dialect = (index: number) =>
    parleyDialect({
      authorization: headers.Authorization!,
      version: demo.service_version,
      accountId: demo.account_id,
      conversations: () => [conversations[index % conversations.length]!],
    });
  return {
    name: 'parley',
    process,
    postgresPid: parley.postgresPid,
    seedAccounts: (count) =>
      parley.database.transaction(async (tx) => {
        for (let n = 0; n < count; n++) await createAccount(tx, { name: `Idle ${n}` });
      }),
    open: (count) => RawSubscribers.open({ port, count, dialect }),
  };
}

/**
 * Opens controls that publish to all sockets (or send them heartbeats of `frame`), without
 * authentication.
 */
export async function openIdleControl(
  { disposer }: Session,
  name: 'uws' | 'ws' | 'socket-io' | 'uws-heartbeats',
  frame = '{}',
): Promise<IdleServer> {
  const entry = `bench/controls/${name === 'uws-heartbeats' ? name : `${name}-fanout`}.ts`;
  const process = disposer.add(name, new ServerProcess({ entry, nodeFlags: SETTLING }), (it) => it.stop());
  process.tell({ frame });
  const { port } = await process.message<Listening>();
  const dialect: Dialect = name === 'socket-io' ? SOCKET_IO_DIALECT : PONGING_DIALECT;
  return { name, process, open: (count) => RawSubscribers.open({ port, count, dialect }) };
}
