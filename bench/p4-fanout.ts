import { WebSocket } from 'ws';
import { createConversation } from '../src/conversations/create.ts';
import type { Listening } from './controls/delivery-loop.ts';
import { BARE_DIALECT, type Dialect, parleyDialect, SOCKET_IO_DIALECT } from './lib/dialects.ts';
import { seedHistory } from './lib/history.ts';
import { HttpConnections, postRequest } from './lib/http-connections.ts';
import { type Block, type Comparison, comparePairs, type Side } from './lib/pairs.ts';
import { type BenchDatabase, startPostgres } from './lib/postgres.ts';
import { type Product, startProduct } from './lib/product.ts';
import { RawSubscribers } from './lib/raw-subscribers.ts';
import { saturate } from './lib/saturation.ts';
import { ServerProcess } from './lib/server-process.ts';
import { comparisonRow, type Findings, type Row, type Session, schedule, type Work } from './lib/work.ts';

/**
 * One message to a thousand sockets through the whole path (REST send → commit → publish → sockets), against
 * servers that fan the same bytes out from a loop in their own process, one message a turn, as fast as the
 * subscribers take them: nothing is sent to them, and they keep nothing. And our publish() in such a loop.
 */
export const P4: Work = { name: 'p4', title: 'fan-out', run };

async function run(session: Session): Promise<Findings> {
  const { disposer, full } = session;
  const { parley } = await startPostgres(disposer, ['parley']);
  const product = await startProduct(disposer, {
    databaseUrl: parley.url,
    env: { PARLEY_SOCKET_SOCKETS_PER_ACTOR: String(2 * SOCKETS) },
  });
  const conversation = await seedConversation(product, parley);
  await seedHistory(parley, HISTORY);
  const frame = await sampleFrame(product, conversation);
  const whole = await openWhole(session, product, conversation);
  const alone = await openAlone(session, parley, frame);
  const uws = await openControl(session, 'uws', frame);
  const ws = await openControl(session, 'ws', frame);
  const socketIo = await openControl(session, 'socket-io', frame);

  const rows: Row[] = [];
  const comparisons: Record<string, Comparison> = {};
  const timing = schedule(full, { pairs: 2, blockMs: 2_000 });
  const compare = async (work: string, ours: Side, control: Side, atLeast?: number) => {
    session.say(work);
    const onBlock = (side: string, { figure }: Block) => session.say(`  ${side}: ${Math.round(figure)}/s`);
    const comparison = await comparePairs({ ours, control, onBlock, ...timing });
    comparisons[work] = comparison;
    rows.push(comparisonRow(work, { comparison, unit: '/s', atLeast }));
  };
  await compare('P4 whole path, 1,000 sockets', whole, uws.byCredit, 0.9);
  await compare('P4 publish alone, one a tick', alone, uws.byCredit, 0.9);
  await compare('P4 whole path, against ws', whole, ws.byCredit, 1.5);
  await compare('P4 whole path, against Socket.IO', whole, socketIo.byCredit, 2);
  if (full) await compare('P4 whole path, control by POST too', whole, uws.byPost);
  return {
    rows,
    comparisons,
    facts: {
      sockets: SOCKETS,
      'frame, bytes': Buffer.byteLength(frame),
      'messages under way': WINDOW,
    },
  };
}

const SOCKETS = 1_000;
/** Messages under way. Of those sent by REST, the next ones are committed while one is fanned out. */
const WINDOW = 8;
/** Messages that each conversation has before the first block. */
const HISTORY = 1_000;
const BODY = 'The build is green again.';

async function openWhole(
  { disposer }: Session,
  { process, port, headers, demo }: Product,
  conversation: string,
): Promise<Side> {
  const dialect = parleyDialect({
    authorization: headers.Authorization!,
    version: demo.service_version,
    accountId: demo.account_id,
    conversations: () => [conversation],
  });
  let number = 0;
  const request = () => {
    number += 1;
    const body = JSON.stringify({ body: BODY, client_message_id: `run-${String(number).padStart(12, '0')}` });
    return postRequest(`/v1/messaging/conversations/${conversation}/messages`, headers, body);
  };
  const subscribers = await openSubscribers(disposer, port, dialect);
  return sideByPost('parley', process, port, subscribers, request);
}

async function openAlone({ disposer }: Session, { url }: BenchDatabase, frame: string): Promise<Side> {
  const { data }: { data: { sender: object | null } } = JSON.parse(frame);
  const server = disposer.add(
    'publish-only',
    new ServerProcess({
      entry: 'bench/servers/publish-only.ts',
      args: [BODY, JSON.stringify(data.sender)],
      env: { DATABASE_URL: url, PARLEY_LOG_LEVEL: 'warn' },
    }),
    (it) => it.stop(),
  );
  const { port } = await server.message<Listening>();
  // Live with its first frame, `caught_up`.
  const subscribers = await openSubscribers(disposer, port, { ...BARE_DIALECT, open: () => () => 'live' });
  return sideByCredit('publish alone', server, subscribers);
}

async function openControl(
  { disposer }: Session,
  name: 'uws' | 'ws' | 'socket-io',
  frame: string,
): Promise<{ byPost: Side; byCredit: Side }> {
  const server = disposer.add(name, new ServerProcess({ entry: `bench/controls/${name}-fanout.ts` }), (it) =>
    it.stop(),
  );
  server.tell({ frame });
  const { port } = await server.message<Listening>();
  const dialect = name === 'socket-io' ? SOCKET_IO_DIALECT : BARE_DIALECT;
  const subscribers = await openSubscribers(disposer, port, dialect);
  const request = postRequest('/publish', {}, JSON.stringify({ body: BODY }));
  return {
    byPost: sideByPost(name, server, port, subscribers, () => request),
    byCredit: sideByCredit(name, server, subscribers),
  };
}

async function openSubscribers(
  disposer: Session['disposer'],
  port: number,
  dialect: Dialect,
): Promise<RawSubscribers> {
  const subscribers = await RawSubscribers.open({ port, count: SOCKETS, dialect });
  return disposer.add('sockets', subscribers, (it) => it.close());
}

function sideByPost(
  name: string,
  server: ServerProcess,
  port: number,
  subscribers: RawSubscribers,
  request: () => Buffer,
): Side {
  return {
    name,
    run: async (durationMs) => {
      // Anew for each block: servers cut connections that were idle while others had their turn.
      const connections = await HttpConnections.open({ host: '127.0.0.1', port, size: WINDOW + 1 });
      // A message that was refused is missing among the deliveries, and the block fails for that.
      let refused: string | undefined;
      const trigger = () => {
        connections.send(request(), (status, body) => {
          if (status !== 201) refused ??= `${status} ${body}`;
        });
      };
      try {
        return await saturate({ subscribers, server, trigger, window: WINDOW, durationMs });
      } catch (cause) {
        throw new Error(`${name} failed, refused: ${refused ?? 'nothing'}`, { cause });
      } finally {
        connections.close();
      }
    },
  };
}

function sideByCredit(name: string, server: ServerProcess, subscribers: RawSubscribers): Side {
  const trigger = () => server.tell({ credit: 1 });
  return {
    name,
    run: (durationMs) => saturate({ subscribers, server, trigger, window: WINDOW, durationMs }),
  };
}

/** With nobody in it: nobody is notified, the fan-out is all that a send causes besides its row. */
async function seedConversation({ demo }: Product, { database }: BenchDatabase): Promise<string> {
  const { conversation } = await database.transaction((tx) =>
    createConversation(tx, { accountId: demo.account_id, type: 'group', participants: [] }),
  );
  return conversation.id;
}

/** What Parley puts on a socket for one of these messages: the controls fan out the same bytes. */
async function sampleFrame({ demo, port, headers }: Product, conversation: string): Promise<string> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime`, { headers });
  try {
    return await new Promise<string>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('message', (bytes: Buffer) => {
        const text = bytes.toString();
        const { type }: { type: string } = JSON.parse(text);
        if (type === 'event') return resolve(text);
        if (type === 'ready') {
          socket.send(JSON.stringify({ type: 'subscribe', id: '1', conversation_id: conversation }));
        }
        if (type !== 'caught_up') return;
        fetch(`${demo.base_url}/v1/messaging/conversations/${conversation}/messages`, {
          method: 'POST',
          headers: { ...headers, 'Content-Type': 'application/json' },
          body: JSON.stringify({ body: BODY, client_message_id: 'sample-000000000' }),
        }).then((response) => {
          if (response.status !== 201) reject(new Error(`the sample was refused: ${response.status}`));
        }, reject);
      });
    });
  } finally {
    socket.close();
  }
}
