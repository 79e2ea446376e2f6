/** Presence (docs/realtime.md#events), which nodes exchange only over the engine. */

import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import type { Frame } from '../../src/core/frames/frame.ts';
import { ConversationPresence } from '../../src/edge/gateway/presence/conversation-presence.ts';
import { Presence } from '../../src/edge/gateway/presence/presence.ts';
import type { Reader } from '../../src/edge/gateway/stream/reader.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const HOLD_MS = 1_000;
const ID = 'cnv_quay';

t.test('an actor is there on every node, until a while after its last socket', async (t) => {
  const engine = new MemoryEngine<Frame>();
  const [one, two] = [await openNode(t, engine, 'one'), await openNode(t, engine, 'two')];
  const [watcher, phone, laptop] = [new Socket(), new Socket(), new Socket()];
  one.presence.entered(ID, watcher);
  two.presence.entered(ID, phone);
  two.presence.declare(phone, ADA, 'away', [ID]);
  await until(() => one.told.length === 1, { what: 'away' });
  two.presence.entered(ID, laptop);
  two.presence.declare(laptop, ADA, 'online', [ID]);
  await until(() => one.told.length === 2, { what: 'online' });
  two.presence.left(ID, laptop);
  await until(() => one.told.length === 3, { what: 'what the phone says' });
  two.presence.left(ID, phone);
  const leftAtMs = performance.now();
  await until(() => one.told.length === 4, { what: 'offline' });
  t.ok(performance.now() - leftAtMs >= HOLD_MS, 'not before its time');
  t.strictSame(one.told, ['act_ada away', 'act_ada online', 'act_ada away', 'act_ada offline']);
  t.strictSame(two.told, one.told, 'and where its sockets were');
});

t.test('a user who reconnects elsewhere was never offline, and has the new state there', async (t) => {
  const engine = new MemoryEngine<Frame>();
  const [one, two] = [await openNode(t, engine, 'one'), await openNode(t, engine, 'two')];
  const [before, after] = [new Socket(), new Socket()];
  one.presence.declare(before, ADA, 'online', [ID]);
  await until(() => two.told.length === 1, { what: 'online' });
  one.presence.left(ID, before);
  two.presence.entered(ID, after);
  two.presence.declare(after, ADA, 'away', [ID]);
  await until(() => one.told.at(-1) === 'act_ada away', { what: 'away' });
  const quietUntilMs = performance.now() + 1.3 * HOLD_MS;
  await until(() => performance.now() > quietUntilMs, { what: 'the time to pass' });
  t.strictSame(two.told, ['act_ada online', 'act_ada away'], 'no offline, also past the time to live');
  t.strictSame(one.told, two.told);
});

t.test('a new reader receives the presence of others, also of other nodes', async (t) => {
  const engine = new MemoryEngine<Frame>();
  const one = await openNode(t, engine, 'one');
  one.presence.declare(new Socket(), ADA, 'online', [ID]);
  await until(() => one.told.length === 1, { what: 'online' });
  const local = new Socket();
  one.presence.entered(ID, local);
  t.strictSame(local.got(), ['act_ada online'], 'at once');
  const customer = new Socket('customer');
  one.presence.entered(ID, customer);
  t.strictSame(customer.got(), [], 'a customer nothing');

  const two = await openNode(t, engine, 'two');
  await until(() => two.told.length === 1, { what: 'the answer of the other node' });
  t.strictSame(two.told, ['act_ada online']);
});

t.test('users of a killed node are offline once its last announcement is too old', async (t) => {
  const engine = new MemoryEngine<Frame>();
  const [one, two] = [await openNode(t, engine, 'one'), await openNode(t, engine, 'two')];
  two.presence.declare(new Socket(), ADA, 'online', [ID]);
  await until(() => one.told.length === 1, { what: 'online' });
  await two.presence.close();
  await until(() => one.told.length === 2, { what: 'offline' });
  t.strictSame(one.told, ['act_ada online', 'act_ada offline']);
  const restored = new Socket();
  one.presence.repeat(ID, restored);
  t.strictSame(restored.got(), ['act_ada offline'], 'for who may have missed it');
});

t.test('a node without users of the conversation announces nothing', async (t) => {
  const engine = new MemoryEngine<Frame>();
  const words: unknown[] = [];
  await engine.subscribe(ID, (frame) => words.push(frame.kind === 'presence' && frame.report));
  const one = await openNode(t, engine, 'one');
  for (let n = 0; n < 10; n++) one.presence.entered(ID, new Socket());
  const quietUntilMs = performance.now() + HOLD_MS / 2;
  await until(() => performance.now() > quietUntilMs, { what: 'the time to pass' });
  t.strictSame(words, [{ asks: true, present: [] }]);
});

t.test('a report that cannot be read is ignored', async (t) => {
  const engine = new MemoryEngine<Frame>();
  const one = await openNode(t, engine, 'one');
  await engine.publish(ID, { kind: 'presence', stream: ID, nodeId: 'two', report: undefined });
  one.presence.declare(new Socket(), ADA, 'online', [ID]);
  await until(() => one.told.length === 1, { what: 'online' });
});

t.test('of several presence states of an actor the strongest counts', async (t) => {
  const known = new ConversationPresence();
  known.update('two', [['act_ada', 'online', false]], 10);
  known.update('three', [['act_ada', 'away', true]], 10);
  t.strictSame(known.news(), [['act_ada', 'away']], 'an open socket before one that has ended');
  known.update('four', [['act_ada', 'online', true]], 20);
  t.strictSame(known.news(), [['act_ada', 'online']]);
  t.ok(known.expire(10));
  t.strictSame(known.news(), []);
  t.notOk(known.expire(19));
  t.ok(known.expire(20));
  t.strictSame(known.news(), [['act_ada', 'offline']]);
  t.strictSame(known.news(), []);
  known.forgetOthers();
  t.ok(known.empty);
});

/**
 * A node's presence with the conversation open on it; all share one engine under names of their
 * own.
 */
async function openNode(t: Teardown, engine: MemoryEngine<Frame>, nodeId: string) {
  const told: string[] = [];
  const presence = new Presence({
    engine: { nodeId, publish: (channel, frame) => engine.publish(channel, frame) },
    holdMs: HOLD_MS,
    deliver: (_, { team }) => {
      told.push(shown(team!));
      return true;
    },
    onError: (error) => told.push(String(error)),
  });
  t.teardown(() => presence.close());
  await engine.subscribe(ID, (frame) => {
    if (frame.kind === 'presence') presence.onReport(ID, frame);
  });
  presence.opened(ID);
  return { presence, told };
}

/** `act_ada online` */
function shown(bytes: Buffer): string {
  const { data } = JSON.parse(bytes.toString());
  return `${data.actor_id} ${data.status}`;
}

const ADA = { id: 'act_ada', external_id: 'ada' };

class Socket implements Reader {
  readonly audience: Reader['audience'];
  readonly version = NEWEST_VERSION;
  readonly hidden = [];
  readonly closed = false;
  readonly bufferedBytes = 0;
  readonly heldBytes = 0;
  readonly #frames: Buffer[] = [];

  constructor(audience: Reader['audience'] = 'team') {
    this.audience = audience;
  }

  got(): string[] {
    return this.#frames.map(shown);
  }

  send(bytes: Buffer): void {
    this.#frames.push(bytes);
  }

  sendAll(frames: readonly Buffer[]): void {
    for (const bytes of frames) this.send(bytes);
  }

  async drained(): Promise<void> {}
  forget(): void {}
  giveUp(): void {}
  join(): void {}
  leave(): void {}

  isOn(): boolean {
    return true;
  }
}
