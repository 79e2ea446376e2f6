/** The proxy by which campaigns break links (test/support/fault-proxy.ts). */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Redis } from 'ioredis';
import t from 'tap';
import { ROOT, runProgram, startParley } from '../../start/parley.ts';
import { FaultProxy, type FaultProxyOptions } from '../../support/fault-proxy.ts';
import { startRedis } from '../../support/redis.ts';
import { pushedMessage, RespSplitter } from '../../support/resp.ts';
import type { Teardown } from '../../support/teardown.ts';
import { until } from '../../support/until.ts';

t.test('without faults every byte passes, both ways, and so does the end', async (t) => {
  const { proxy } = await startEcho(t);
  const client = await open(proxy.port);
  const sent = Buffer.alloc(8_000_000, 'ahoy');
  client.socket.end(sent);
  await once(client.socket, 'close');
  t.ok(Buffer.concat(client.received).equals(sent));
  await until(() => proxy.open === 0, { what: 'nothing to be left' });
  t.strictSame(proxy.counts, { cut: 0, refused: 0, dropped: 0, held: 0, lost: 0 });
});

t.test('a delay holds every byte and keeps their order', async (t) => {
  const { proxy } = await startEcho(t, { faults: { delayMs: 40 } });
  const client = await open(proxy.port);
  const sentAt = performance.now();
  client.socket.write('slow ');
  await until(() => text(client) === 'slow ', { what: 'the echo' });
  t.ok(performance.now() - sentAt >= 78, 'there and back');
  client.socket.write('first ');
  proxy.faults.delayMs = 0;
  client.socket.write('second');
  await until(() => text(client).endsWith('second'), { what: 'both' });
  t.equal(text(client), 'slow first second', 'what comes later does not overtake what waits');
});

t.test('a cut resets both sides, and new connections are taken', async (t) => {
  const { proxy, taken } = await startEcho(t);
  const clients = [await open(proxy.port), await open(proxy.port), await open(proxy.port)];
  await until(() => taken.length === 3, { what: 'the target to have three' });
  proxy.cutOne();
  await until(() => clients.filter(({ error }) => error === 'ECONNRESET').length === 1, { what: 'one' });
  await until(() => taken.filter(({ destroyed }) => destroyed).length === 1, { what: 'its other side' });
  proxy.cut();
  await until(() => clients.every(({ error }) => error === 'ECONNRESET'), { what: 'all' });
  t.equal(proxy.counts.cut, 3);
  const again = await open(proxy.port);
  again.socket.write('back');
  await until(() => text(again) === 'back', { what: 'the echo' });

  proxy.refuse();
  const refused = connect(proxy.port, '127.0.0.1').on('error', () => {});
  await until(() => refused.destroyed, { what: 'a refusal' });
  proxy.accept();
  again.socket.destroy();
  const accepted = await open(proxy.port);
  accepted.socket.write('and again');
  await until(() => text(accepted) === 'and again', { what: 'the echo' });
});

t.test('a cut that meets an end on its way leaves nothing half open', async (t) => {
  const { proxy, taken } = await startEcho(t, {}, { echoes: false });
  const client = await open(proxy.port);
  await until(() => taken.length === 1, { what: 'the target to have it' });
  proxy.pause();
  client.socket.end();
  await once(client.socket, 'finish');
  // Taken behind that end: the proxy has it by then.
  await open(proxy.port);
  await until(() => proxy.open === 2, { what: 'the second connection to be taken' });
  await nextTurn();
  proxy.resume();
  proxy.cut();
  const refused = () => {
    taken[0]!.write('x');
    return taken[0]!.destroyed;
  };
  await until(refused, { what: 'a write to be refused' });
});

t.test('connections are cut automatically, as often as configured', async (t) => {
  const { proxy } = await startEcho(t, { faults: { cutEveryMs: 20 } });
  const client = await open(proxy.port);
  await until(() => client.error !== undefined, { what: 'a cut' });
  t.equal(client.error, 'ECONNRESET');
  proxy.faults.cutEveryMs = 0;
  const spared = await open(proxy.port);
  for (let n = 0; n < 10; n++) {
    spared.socket.write('x');
    await until(() => text(spared).length === n + 1, { what: 'the echo' });
  }
});

t.test('a pause holds what is under way, in one direction or both, and loses nothing', async (t) => {
  const { proxy, arrived } = await startEcho(t);
  const client = await open(proxy.port);
  proxy.pause(['down']);
  client.socket.write('one ');
  await until(() => arrived() === 'one ', { what: 'the target to have it' });
  proxy.pause();
  client.socket.write('two ');
  const late = await open(proxy.port);
  late.socket.write('late');
  await until(() => proxy.open === 2, { what: 'the second connection to be taken' });
  t.equal(text(client) + text(late), '', 'nothing came back');
  t.equal(arrived(), 'one ', 'nothing went there');
  proxy.resume();
  await until(() => text(client) === 'one two ' && text(late) === 'late', { what: 'all of it' });
});

t.test('a dropped connection stays open and silent', async (t) => {
  const { proxy, arrived, taken } = await startEcho(t, { faults: { dropRate: 1 } });
  const client = await open(proxy.port);
  client.socket.write('last');
  await until(() => arrived() === 'last', { what: 'the last chunk' });
  client.socket.end('unheard');
  const other = await open(proxy.port);
  other.socket.write('other');
  await until(() => arrived() === 'lastother', { what: 'another connection' });
  t.equal(text(client) + text(other), '');
  t.ok(
    taken.every(({ destroyed, readableEnded }) => !destroyed && !readableEnded),
    'nobody was told',
  );
  t.equal(proxy.counts.dropped, 2);
});

t.test('the same seed cuts the same connections', async (t) => {
  const order = async (seed: number): Promise<number[]> => {
    const { proxy } = await startEcho(t, { seed });
    const clients: Caller[] = [];
    for (let n = 0; n < 8; n++) {
      clients.push(await open(proxy.port));
      await until(() => proxy.open === n + 1, { what: 'the connection' });
    }
    const cut: number[] = [];
    while (cut.length < clients.length) {
      proxy.cutOne();
      await until(() => clients.filter(({ error }) => error !== undefined).length > cut.length, {
        what: 'a cut',
      });
      cut.push(clients.findIndex(({ error }, index) => error !== undefined && !cut.includes(index)));
    }
    return cut;
  };
  const once = await order(5);
  t.strictSame(await order(5), once);
  t.notSame(await order(6), once);
});

t.test('in front of Redis, single messages are held while later ones pass', async (t) => {
  const redis = await startRedis(t);
  const proxy = await FaultProxy.start({
    target: redis,
    faults: { holdMs: ({ message }) => (message.toString().startsWith('hold') ? 2_000 : 0) },
  });
  t.teardown(() => proxy.close());
  for (const protocol of [2, 3] as const) {
    const subscriber = new Redis(proxy.port, '127.0.0.1', { protocol });
    const publisher = new Redis(redis.url);
    t.teardown(() => subscriber.disconnect());
    t.teardown(() => publisher.disconnect());
    const got: string[] = [];
    subscriber.on('smessage', (_: string, message: string) => got.push(message));
    subscriber.on('message', (_: string, message: string) => got.push(message));
    await subscriber.ssubscribe('pier');
    await subscriber.subscribe('quay');
    const big = 'x'.repeat(300_000);
    for (const message of ['1', 'hold 2', '3', big]) await publisher.spublish('pier', message);
    for (const message of ['hold 5', '6']) await publisher.publish('quay', message);
    await until(() => got.length === 6, { what: 'all six' });
    t.strictSame(got, ['1', '3', big, '6', 'hold 2', 'hold 5'], `RESP${protocol}`);
    subscriber.disconnect();
  }
  t.equal(proxy.counts.held, 4);
});

t.test('replies of every type are cut at their ends, wherever chunks end', async (t) => {
  const values = [
    '+OK\r\n',
    '-ERR no\r\n',
    ':7\r\n',
    '$-1\r\n',
    '*-1\r\n',
    '$4\r\n\r\n\r\n\r\n',
    '_\r\n',
    ',1.5\r\n',
    '#t\r\n',
    '(123\r\n',
    '!3\r\nERR\r\n',
    '=7\r\ntxt:abc\r\n',
    '*2\r\n:1\r\n*1\r\n$1\r\na\r\n',
    '%1\r\n+key\r\n~2\r\n:1\r\n:2\r\n',
    '|1\r\n+ttl\r\n:3\r\n+OK\r\n',
    '>3\r\n$8\r\nsmessage\r\n$4\r\npier\r\n$5\r\na\r\nbc\r\n',
    '*3\r\n$7\r\nmessage\r\n$4\r\nquay\r\n$0\r\n\r\n',
    '>3\r\n$10\r\nssubscribe\r\n$4\r\npier\r\n:1\r\n',
  ];
  const stream = Buffer.from(values.join(''));
  for (const size of [1, 2, 3, 7, stream.length]) {
    const splitter = new RespSplitter();
    const found: string[] = [];
    for (let at = 0; at < stream.length; at += size) {
      found.push(...splitter.split(stream.subarray(at, at + size)).map(String));
    }
    t.strictSame(found, values, `chunks of ${size}`);
  }
  const pushed = values.flatMap((value) => pushedMessage(Buffer.from(value)) ?? []);
  t.strictSame(
    pushed.map(({ channel, message }) => [channel, message.toString()]),
    [
      ['pier', 'a\r\nbc'],
      ['quay', ''],
    ],
  );
  t.throws(() => new RespSplitter().split(Buffer.from('HTTP/1.1 200 OK\r\n')), /not RESP/);
  t.throws(() => new RespSplitter().split(Buffer.from('$x\r\n')), /not RESP/);
});

t.test('npm run faults: its options and its output', async (t) => {
  const { port } = await startEcho(t);
  const script = join(ROOT, 'test/support/faults.ts');
  const command = [process.execPath, script, '--target', `127.0.0.1:${port}`, '--cut-every', '30'] as const;
  const running = startParley(t, {}, { command });
  const [, listening = ''] = await running.says(/^127\.0\.0\.1:(\d+) passes on to .*, seed 1\n/);
  const client = await open(Number(listening));
  await until(() => client.error !== undefined, { what: 'a cut' });
  running.child.kill('SIGINT');
  const { code, stdout } = await running.ended;
  t.equal(code, 0);
  t.match(stdout, /\n\{"cut":1,/);

  for (const wrong of [[], ['--target', 'nowhere'], ['--target', 'a:1', '--delay', 'x'], ['--nonsense']]) {
    const { code, stderr } = await runProgram(process.execPath, [script, ...wrong], {});
    t.equal(code, 2, wrong.join(' '));
    t.match(stderr, /usage: npm run faults/);
  }
});

interface Caller {
  readonly socket: Socket;
  readonly received: Buffer[];
  error: string | undefined;
}

async function open(port: number): Promise<Caller> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const caller: Caller = { socket, received: [], error: undefined };
  t.teardown(() => void socket.destroy());
  socket.on('data', (bytes) => caller.received.push(bytes));
  socket.on('error', (error) => {
    caller.error = 'code' in error ? String(error.code) : error.message;
  });
  await once(socket, 'connect');
  return caller;
}

function text({ received }: Caller): string {
  return Buffer.concat(received).toString();
}

/** A server behind a proxy that echoes its input, including its end, unless configured not to. */
async function startEcho(
  t: Teardown,
  options: Partial<FaultProxyOptions> = {},
  { echoes } = { echoes: true },
) {
  const taken: Socket[] = [];
  let arrived = '';
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    taken.push(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      if (arrived.length < 1_000) arrived += bytes.toString();
    });
    if (echoes) socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of taken) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const proxy = await FaultProxy.start({ target: { port }, ...options });
  t.teardown(() => proxy.close());
  return { proxy, taken, port, arrived: () => arrived };
}
