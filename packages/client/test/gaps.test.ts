/** When something is read again because events that are not kept may be missing. */

import t from 'tap';
import type { ClientState, Transport } from '../index.ts';
import { Gaps } from '../live/gaps.ts';
import { ManualTiming } from './manual-timing.ts';

const POLLED_MS = 15_000;

t.test('once after each loss of the connection', async (t) => {
  const { gaps, missed, moveTo } = watched();
  gaps.readBegan();
  moveTo('catching_up', 'websocket');
  t.equal(missed(), 0, 'not before everything has arrived');
  moveTo('live', 'websocket');
  t.equal(missed(), 1, 'the read began without a connection');
  gaps.readBegan();
  moveTo('catching_up', 'websocket');
  moveTo('live', 'websocket');
  t.equal(missed(), 1, 'the connection was kept');
  for (const state of ['offline', 'connecting', 'catching_up', 'live'] as const) moveTo(state, 'websocket');
  t.equal(missed(), 2);
  gaps.readBegan();
  moveTo('connecting', null);
  moveTo('catching_up', 'stream');
  gaps.readBegan();
  moveTo('live', 'stream');
  t.equal(missed(), 2, 'a read that began behind the loss has everything');
});

t.test('every 15 seconds over polls, and once more when another transport takes over', async (t) => {
  const { gaps, missed, moveTo, timing } = watched();
  moveTo('live', 'poll');
  t.equal(missed(), 1);
  gaps.readBegan();
  timing.end(POLLED_MS);
  t.equal(missed(), 2);
  gaps.readBegan();
  gaps.readBegan();
  t.strictSame(timing.waits, [POLLED_MS]);
  moveTo('live', 'websocket');
  timing.end(POLLED_MS);
  t.equal(missed(), 3, 'what the last poll did not hear');
  gaps.readBegan();
  t.strictSame(timing.waits, []);
});

t.test('nothing waits without a connection, or once it is closed', async (t) => {
  const { gaps, missed, moveTo, timing } = watched();
  moveTo('live', 'poll');
  gaps.readBegan();
  moveTo('offline', null);
  t.strictSame(timing.waits, []);
  moveTo('live', 'poll');
  gaps.readBegan();
  gaps.close();
  moveTo('offline', null);
  moveTo('live', 'poll');
  t.strictSame([timing.waits, missed()], [[], 2]);
});

/** A client whose connection the test moves. */
function watched() {
  const timing = new ManualTiming();
  const listeners = new Set<(state: ClientState) => void>();
  let connection: { state: ClientState; transport: Transport | null } = { state: 'offline', transport: null };
  let count = 0;
  const host = {
    timing,
    state: () => connection.state,
    transport: () => connection.transport,
    onState(listener: (state: ClientState) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const gaps = new Gaps(host, () => {
    count += 1;
  });
  const moveTo = (state: ClientState, transport: Transport | null) => {
    connection = { state, transport };
    for (const listener of [...listeners]) listener(state);
  };
  return { gaps, timing, missed: () => count, moveTo };
}
