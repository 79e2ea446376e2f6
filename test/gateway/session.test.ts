import { SOCKET_LIMITS } from '@parley/protocol/socket/socket-limits.ts';
import t from 'tap';
import { HeartbeatCursors } from '../../src/edge/gateway/session/heartbeat-cursor.ts';
import { Heartbeats } from '../../src/edge/gateway/session/heartbeats.ts';
import { Session, type SessionHost } from '../../src/edge/gateway/session/session.ts';
import type { Wire } from '../../src/edge/gateway/session/session-state.ts';
import { type SessionState, transition } from '../../src/edge/gateway/session/session-state.ts';
import { Sessions } from '../../src/edge/gateway/session/sessions.ts';
import type { Streams } from '../../src/edge/gateway/stream/streams.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';

const STATES: readonly SessionState[] = ['opening', 'ready', 'dropped', 'closing', 'closed'];
const ALLOWED = new Set([
  'opening ready',
  'opening dropped',
  'opening closing',
  'opening closed',
  'ready dropped',
  'ready closing',
  'ready closed',
  'dropped closing',
  'dropped closed',
  'closing closed',
]);

t.test('a step that the table does not have is a defect', async (t) => {
  for (const from of STATES) {
    for (const to of STATES) {
      if (ALLOWED.has(`${from} ${to}`)) t.equal(transition(from, to), to);
      else t.throws(() => transition(from, to), { code: 'ERR_ASSERTION' }, `${from} to ${to}`);
    }
  }
});

t.test('closed with nothing queued, it ends at once', async (t) => {
  const { session, wire, ended } = open(t);
  session.becomeReady(READY);
  session.close('rate_limited', { retryAfterMs: 5 });
  t.strictSame(wire.calls, ['send ready', 'end 4100 {"retry_after_ms":5}']);
  t.strictSame(ended, ['rate_limited']);
});

t.test('closed with bytes queued, it ends once they have left, or is cut at its deadline', async (t) => {
  for (const [what, finish, last] of [
    ['drained', () => undefined, 'end 4000 going_away'],
    ['cut', (at: number) => at, 'close'],
  ] as const) {
    const { session, wire, ended } = open(t);
    session.becomeReady(READY);
    wire.queued = 10;
    session.close('going_away');
    session.close('slow_consumer');
    session.send(Buffer.from('late'));
    t.strictSame(wire.calls, ['send ready'], `${what}: nothing follows`);
    const deadlineMs = finish(performance.now() + 2 * SOCKET_LIMITS.cutMs);
    if (deadlineMs === undefined) {
      wire.queued = 0;
      session.wireDrained();
    } else session.due(deadlineMs);
    t.equal(wire.calls.at(-1), last);
    t.strictSame(ended, ['going_away']);
  }
});

t.test('a dropped one is not touched before it is closed', async (t) => {
  const { session, wire, ended, gapped } = open(t);
  session.becomeReady(READY);
  session.join('topic');
  wire.queued = 10;
  session.dropped();
  session.dropped();
  t.strictSame(gapped, [session]);
  t.ok(session.closed);
  const before = wire.calls.length;
  session.send(Buffer.from('late'));
  session.close('going_away');
  session.wireDrained();
  t.equal(session.due(performance.now() + 3_600_000), Number.POSITIVE_INFINITY, 'it has no deadline yet');
  t.strictSame(wire.calls.slice(before), []);

  session.silence();
  t.strictSame(wire.calls.slice(before), ['unsubscribe topic']);
  wire.queued = 0;
  session.closeDropped();
  session.closeDropped();
  t.equal(wire.calls.at(-1), 'end 4001 slow_consumer');
  t.strictSame(ended, ['slow_consumer']);
});

t.test('a dropped one may be cut, and may go by itself', async (t) => {
  const revoked = open(t);
  revoked.session.becomeReady(READY);
  revoked.wire.queued = 10;
  revoked.session.dropped();
  revoked.session.revoke('forbidden');
  t.equal(revoked.wire.calls.at(-1), 'close');
  t.strictSame(revoked.ended, ['cut']);

  const gone = open(t);
  gone.session.dropped();
  gone.session.wireClosed();
  for (const late of ['silence', 'closeDropped', 'cut', 'wireClosed'] as const) gone.session[late]();
  t.strictSame([gone.wire.calls, gone.ended], [[], ['slow_consumer']]);
});

t.test('a closing one may be cut', async (t) => {
  const { session, wire, ended } = open(t);
  session.becomeReady(READY);
  wire.queued = 10;
  session.close('going_away');
  session.cut();
  session.becomeReady(READY);
  t.strictSame(wire.calls, ['send ready', 'close']);
  t.strictSame(ended, ['cut']);
});

t.test(
  'sessions that open together get their heartbeats at different moments, in one frame a moment',
  async (t) => {
    const host = hostOf(t);
    const sessions = Array.from({ length: 400 }, () => open(t, host));
    for (const { session } of sessions) session.becomeReady(READY);
    const start = performance.now();
    const pings: Buffer[][] = [];
    for (let ms = 0; ms <= SOCKET_LIMITS.heartbeatMs; ms += host.heartbeats.tickMs) {
      for (const { session, wire } of sessions) {
        wire.sent.length = 0;
        session.due(Math.floor(start + ms));
        session.pong();
      }
      pings.push(sessions.flatMap(({ wire }) => wire.sent));
    }
    t.ok(pings.flat().length >= sessions.length, 'each has its heartbeat');
    t.ok(Math.max(...pings.map(({ length }) => length)) < sessions.length / 10, 'not together');
    for (const [first, ...others] of pings) {
      for (const other of others) if (other !== first) t.fail('a frame of its own');
    }
  },
);

const READY = { type: 'ready', actor: {}, account_id: '', cursor: '', expires_at: null } as never;

/** Calls the session's close handler before `end` and `close` return, as uWebSockets.js does. */
class FakeWire implements Wire {
  readonly calls: string[] = [];
  readonly sent: Buffer[] = [];
  readonly #topics = new Set<string>();
  queued = 0;
  onClose = (): void => {};

  send(bytes: Buffer): number {
    this.sent.push(bytes);
    this.calls.push(`send ${JSON.parse(bytes.toString()).type}`);
    return 1;
  }
  cork(work: () => void): void {
    work();
  }
  end(code: number, reason: string): void {
    this.calls.push(`end ${code} ${reason}`);
    this.onClose();
  }
  close(): void {
    this.calls.push('close');
    this.onClose();
  }
  getBufferedAmount(): number {
    return this.queued;
  }
  subscribe(topic: string): boolean {
    this.#topics.add(topic);
    return true;
  }
  unsubscribe(topic: string): boolean {
    this.calls.push(`unsubscribe ${topic}`);
    return this.#topics.delete(topic);
  }
  isSubscribed(topic: string): boolean {
    return this.#topics.has(topic);
  }
  getTopics(): string[] {
    return [...this.#topics];
  }
}

/** What the sessions of one server share. */
function hostOf(t: Teardown) {
  const heartbeats = new Heartbeats({ limits: SOCKET_LIMITS, cursor: () => 'now', onError: () => {} });
  t.teardown(() => heartbeats.close());
  const streams: SessionHost['streams'] = { leave() {}, leaveFeed() {}, moved: () => undefined };
  return {
    limits: SOCKET_LIMITS,
    heartbeats,
    log,
    streams: streams satisfies Partial<Streams>,
    heartbeatCursors: new HeartbeatCursors({ current: () => 'now' }),
    sessions: new Sessions<Session>(),
  };
}

function open(t: Teardown, host = hostOf(t)) {
  const wire = new FakeWire();
  const ended: (string | undefined)[] = [];
  const gapped: Session[] = [];
  const session = new Session(
    wire,
    { version: undefined, account: undefined },
    {
      ...host,
      gapped: (session) => gapped.push(session),
      ended: (_, reason) => ended.push(reason),
    },
  );
  wire.onClose = () => session.wireClosed();
  return { session, wire, ended, gapped };
}
