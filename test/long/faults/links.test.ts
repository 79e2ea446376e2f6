import t from 'tap';
import { FRAME_CODEC as codec } from '../../../src/core/frames/frame-codec.ts';
import { RedisEngine } from '../../../src/platform/engine/redis/redis-engine.ts';
import { createLog } from '../../../src/platform/log.ts';
import { makeFrame, newChannel, onCreated } from '../../engine/contract.ts';
import { FaultProxy } from '../../support/fault-proxy.ts';
import { startRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

t.test(
  'a link that goes silent in one direction, without closing, is noticed by its node alone',
  async (t) => {
    const redis = await startRedis(t);
    const log = createLog('silent');
    const link = await FaultProxy.start({ target: redis });
    t.teardown(() => link.close());
    const [behind, other] = await Promise.all([
      RedisEngine.connect({ codec, url: `redis://127.0.0.1:${link.port}`, log }),
      RedisEngine.connect({ codec, url: redis.url, log }),
    ]);
    t.teardown(() => Promise.all([behind.close(), other.close()]).then(() => undefined));
    const channel = newChannel();
    const received: number[] = [];
    await behind.subscribe(
      channel,
      onCreated(({ sequence }) => received.push(sequence)),
    );
    const recoveries: number[] = [];
    behind.onMissed(({ sinceMs }) => recoveries.push(sinceMs));

    await other.publish(channel, makeFrame(1));
    await until(() => received.length === 1, { what: 'the first frame' });
    link.pause(['down']);
    const silentAt = performance.now();
    await other.publish(channel, makeFrame(2));
    await until(() => !behind.healthy, { what: 'the node to notice' });
    t.ok(other.healthy, 'the other one has nothing to notice');
    t.strictSame(received, [1]);

    link.resume();
    await until(() => recoveries.length === 1, { what: 'the recovery' });
    t.ok(recoveries[0]! <= silentAt, 'what was published since is to be repaired');
    await other.publish(channel, makeFrame(3));
    await until(() => received.at(-1) === 3, { what: 'the frame after it' });
    t.ok(
      received.every((sequence, index) => index === 0 || sequence > received[index - 1]!),
      'in order',
    );
  },
);
