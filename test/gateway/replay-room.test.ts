import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import type { Reader } from '../../src/edge/gateway/stream/reader.ts';
import { ReplayRoom } from '../../src/edge/gateway/stream/replay-room.ts';
import { until } from '../support/until.ts';

/** A reader whose client takes only what the test lets it take. */
class StuckReader implements Reader {
  readonly audience = 'team';
  readonly version = NEWEST_VERSION;
  readonly hidden = [];
  bufferedBytes = 0;
  closed = false;
  #waiting: { readonly bytes: number; readonly resolve: () => void }[] = [];

  get heldBytes(): number {
    return this.bufferedBytes;
  }

  take(bytes: number): void {
    this.bufferedBytes -= bytes;
    for (const { bytes: most, resolve } of this.#waiting.splice(0)) if (this.bufferedBytes < most) resolve();
  }

  forget(): void {}
  giveUp(): void {
    this.closed = true;
  }

  drained(bytes: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ bytes, resolve }));
  }

  send(): void {}
  sendAll(): void {}
  join(): void {}
  leave(): void {}

  isOn(): boolean {
    return false;
  }
}

t.test('a reader that has much to take waits for itself', async (t) => {
  const room = new ReplayRoom();
  const reader = new StuckReader();
  t.ok(room.admits(reader));
  reader.bufferedBytes = 200_000;
  room.sent(reader);
  t.notOk(room.admits(reader));
  const admitted = room.admit(reader);
  reader.take(150_000);
  await admitted;
  t.ok(room.admits(reader));
});

t.test(
  'readers that take nothing hold a bounded number of bytes together, and are given up for others',
  async (t) => {
    const room = new ReplayRoom({ maxBytes: 300_000, stalledMs: 1 });
    const stuck = Array.from({ length: 10 }, () => new StuckReader());
    for (const reader of stuck) {
      if (!room.admits(reader)) continue;
      reader.bufferedBytes = 100_000;
      room.sent(reader);
    }
    t.equal(room.bytes, 300_000);
    const reading = new StuckReader();
    t.notOk(room.admits(reading), 'there is no room for another one');
    const admitted = room.admit(reading);
    await until(() => stuck.some(({ closed }) => closed), { what: 'a reader that is given up' });
    for (const reader of stuck) if (reader.closed) reader.take(100_000);
    await admitted;
    t.ok(room.admits(reading));
    t.equal(room.bytes, 0);
  },
);

t.test('what a reader holds counts until its connection is over', async (t) => {
  const room = new ReplayRoom({ maxBytes: 100_000 });
  const reader = new StuckReader();
  reader.bufferedBytes = 100_000;
  room.sent(reader);
  reader.giveUp();
  t.notOk(room.admits(new StuckReader()));
  reader.take(100_000);
  await until(() => room.admits(new StuckReader()), { what: 'room' });
});

t.test('a reader that is closed waits for nothing', async (t) => {
  const room = new ReplayRoom({ maxBytes: 1 });
  const stuck = new StuckReader();
  stuck.bufferedBytes = 10;
  room.sent(stuck);
  const gone = new StuckReader();
  gone.giveUp();
  await room.admit(gone);
  t.pass();
});
