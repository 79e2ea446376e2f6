import { WebSocket } from 'ws';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import type { Listening } from '../controls/delivery-loop.ts';
import { BARE_DIALECT, type Dialect, parleyDialect, SOCKET_IO_DIALECT } from './dialects.ts';
import { seedHistory } from './history.ts';
import { HttpConnections, postRequest } from './http-connections.ts';
import type { Side } from './pairs.ts';
import { type BenchDatabase, startPostgres } from './postgres.ts';
import type { Charged } from './processor-time.ts';
import { type Product, startProduct } from './product.ts';
import { RawSubscribers } from './raw-subscribers.ts';
import { saturate } from './saturation.ts';
import { ServerProcess } from './server-process.ts';
import type { Session } from './work.ts';

/** Messages in one turn of the loop, and how many such bursts are under way. */
interface Bursts {
  readonly burst: number;
  readonly window: number;
}

/** A conversation with a thousand sockets, and servers that fan out the same bytes: P4 and P5. */
export interface Fanout {
  /** REST send → commit → publish → sockets, with `window` messages under way. */
  readonly whole: (window: number) => Promise<Side>;
  /** Our publish() in a loop, without the steps before it. */
  readonly alone: (bursts: Bursts) => Promise<Side>;
  readonly control: (name: ControlName) => Promise<Control>;
  readonly facts: Readonly<Record<'sockets' | 'frame, bytes', number>>;
}

type ControlName = 'uws' | 'ws' | 'socket-io';

interface Control {
  readonly byPost: (window: number) => Side;
  readonly byCredit: (bursts: Bursts) => Side;
}

export async function openFanout(session: Session): Promise<Fanout> {
  const { disposer } = session;
  const sockets = SOCKETS[session.scale];
  const { parley } = await startPostgres(disposer, ['parley']);
  const product = await startProduct(disposer, {
    databaseUrl: parley.url,
    env: { PARLEY_SOCKET_SOCKETS_PER_ACTOR: String(2 * sockets) },
  });
  const conversation = await seedConversation(product, parley);
  await seedHistory(parley, HISTORY);
  const frame = await sampleFrame(product, conversation);
  return {
    whole: (window) => openWhole(session, product, parley, conversation, window),
    alone: (bursts) => openAlone(session, parley, frame, bursts),
    control: (name) => openControl(session, name, frame),
    facts: { sockets, 'frame, bytes': Buffer.byteLength(frame) },
  };
}

const SOCKETS = { full: 1_000, short: 1_000, brief: 50 };
/** Messages that each conversation has before the first block. */
const HISTORY = 1_000;
const BODY = 'The build is green again.';

async function openWhole(
  session: Session,
  { process, port, headers, demo }: Product,
  postgres: BenchDatabase,
  conversation: string,
  window: number,
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
  const subscribers = await openSubscribers(session, port, dialect);
  return sideByPost('parley', { servers: [process], postgres }, port, subscribers, request, window);
}

async function openAlone(
  session: Session,
  { url }: BenchDatabase,
  frame: string,
  bursts: Bursts,
): Promise<Side> {
  const { data }: { data: { sender: object | null } } = JSON.parse(frame);
  const server = session.disposer.add(
    'publish-only',
    new ServerProcess({
      entry: 'bench/servers/publish-only.ts',
      args: [BODY, JSON.stringify(data.sender)],
      env: { DATABASE_URL: url, PARLEY_LOG_LEVEL: 'warn' },
    }),
    (it) => it.stop(),
  );
  const { port } = await server.message<Listening>();
  // A socket is live with its first frame, `caught_up`.
  const subscribers = await openSubscribers(session, port, { ...BARE_DIALECT, open: () => () => 'live' });
  return sideByCredit('publish alone', { servers: [server] }, subscribers, bursts, server);
}

async function openControl(session: Session, name: ControlName, frame: string): Promise<Control> {
  const server = new ServerProcess({ entry: `bench/controls/${name}-fanout.ts` });
  session.disposer.add(name, server, (it) => it.stop());
  server.tell({ frame });
  const { port } = await server.message<Listening>();
  const dialect = name === 'socket-io' ? SOCKET_IO_DIALECT : BARE_DIALECT;
  const subscribers = await openSubscribers(session, port, dialect);
  const request = postRequest('/publish', {}, JSON.stringify({ body: BODY }));
  return {
    byPost: (window) => sideByPost(name, { servers: [server] }, port, subscribers, () => request, window),
    byCredit: (bursts) => sideByCredit(name, { servers: [server] }, subscribers, bursts, server),
  };
}

async function openSubscribers(
  { disposer, scale }: Session,
  port: number,
  dialect: Dialect,
): Promise<RawSubscribers> {
  const subscribers = await RawSubscribers.open({ port, count: SOCKETS[scale], dialect });
  return disposer.add('sockets', subscribers, (it) => it.close());
}

function sideByPost(
  name: string,
  charged: Charged,
  port: number,
  subscribers: RawSubscribers,
  request: () => Buffer,
  window: number,
): Side {
  return {
    name,
    run: async (durationMs) => {
      // Each block has new connections: servers cut idle ones while other sides have their turn.
      const connections = await HttpConnections.open({ host: '127.0.0.1', port, size: window + 1 });
      // A refused message is missing among the deliveries, so the block fails.
      let refused: string | undefined;
      const trigger = () => {
        connections.send(request(), (status, body) => {
          if (status !== 201) refused ??= `${status} ${body}`;
        });
      };
      try {
        return await saturate({ subscribers, charged, trigger, window, durationMs });
      } catch (cause) {
        throw new Error(`${name} failed, refused: ${refused ?? 'nothing'}`, { cause });
      } finally {
        connections.close();
      }
    },
  };
}

function sideByCredit(
  name: string,
  charged: Charged,
  subscribers: RawSubscribers,
  bursts: Bursts,
  server: ServerProcess,
): Side {
  const trigger = () => server.tell({ credit: bursts.burst });
  return {
    name,
    run: (durationMs) => saturate({ subscribers, charged, trigger, durationMs, ...bursts }),
  };
}

/**
 * Seeds a conversation without participants, so that a send causes only its row and the fan-out, no
 * notifications.
 */
async function seedConversation({ demo }: Product, { database }: BenchDatabase): Promise<string> {
  const { conversation } = await database.transaction((tx) =>
    createConversation(tx, { accountId: demo.account_id, type: 'group', participants: [] }),
  );
  return conversation.id;
}

/** Returns the frame that Parley sends for one of these messages, for the controls to publish. */
async function sampleFrame({ demo, port, headers }: Product, conversation: string): Promise<string> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime`, { headers });
  try {
    return await new Promise<string>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('message', (bytes: Buffer) => {
        const text = bytes.toString();
        const { type, event }: { type: string; event?: string } = JSON.parse(text);
        if (event === 'message.created') return resolve(text);
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
