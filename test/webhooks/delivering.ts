import { timedId } from '@parley/protocol/ids.ts';
import { Rights } from '../../src/api/access/rights.ts';
import { HOOKS } from '../../src/app/features.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import { Deliverer } from '../../src/features/webhooks/deliverer.ts';
import type { FirstTry, ReadData } from '../../src/features/webhooks/delivery.ts';
import { Health } from '../../src/features/webhooks/health.ts';
import { type WebhookMetrics, webhookMetrics } from '../../src/features/webhooks/metrics.ts';
import { Receivers } from '../../src/features/webhooks/receivers.ts';
import { WEBHOOK_TIMES, type WebhookTimes } from '../../src/features/webhooks/times.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { DueWatch } from '../../src/platform/db/queue/due-watch.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import type { Logger } from '../../src/platform/log.ts';
import { createMetrics, type Metrics } from '../../src/platform/metrics.ts';
import { AddressGuard, type AddressGuardOptions } from '../../src/platform/outbound/address-guard.ts';
import { GuardedPost } from '../../src/platform/outbound/guarded-post.ts';
import { sooner } from '../support/sooner.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';

export interface DeliveringOptions {
  /** How many times as soon retries come. */
  readonly sooner?: number;
  readonly timeoutMs?: number;
  readonly readData?: ReadData;
  /** Default: what is on this machine. */
  readonly guard?: AddressGuardOptions;
  /** Of the deliverer. */
  readonly log?: Logger;
}

/** The part of a node that sends webhooks, over a database. */
export interface Delivering {
  readonly database: Database;
  readonly deliverer: Deliverer;
  readonly metrics: WebhookMetrics & Pick<Metrics, 'registry'>;
  close(): Promise<void>;
}

export async function openDelivering(
  t: Teardown,
  url: string,
  {
    sooner: factor,
    timeoutMs,
    readData = async () => '{"again":true}',
    guard = { allow: ['127.0.0.1'] },
    log: own = log,
  }: DeliveringOptions = {},
): Promise<Delivering> {
  const database = await openDatabase({ url, log, hooks: HOOKS });
  const engine = new MemoryEngine<Frame>();
  const rights = await Rights.open(engine);
  const times: WebhookTimes = {
    ...WEBHOOK_TIMES,
    retries: sooner(WEBHOOK_TIMES.retries, factor ?? 1),
    ...(factor !== undefined && { lookEveryMs: 20 }),
  };
  const posts = new GuardedPost(new AddressGuard(guard));
  const health = new Health({ database, times, log });
  const receivers = new Receivers({ database, rights });
  const { registry } = createMetrics();
  const metrics = { registry, ...webhookMetrics({ registry }) };
  const watch = new DueWatch({ database, log });
  const deliverer = new Deliverer({
    database,
    watch,
    receivers,
    posts,
    times,
    readData,
    metrics,
    log: own,
    ...(timeoutMs !== undefined && { timeoutMs }),
    onWritten: (written) => health.note(written),
  });
  watch.start();
  let closing: Promise<void> | undefined;
  const close = async () => {
    await watch.close();
    await deliverer.close();
    posts.close();
    await health.close();
    receivers.close();
    await rights.close();
    await engine.close();
    await database.close();
  };
  const once = () => {
    closing ??= close();
    return closing;
  };
  t.teardown(once);
  return { database, deliverer, metrics, close: once };
}

let lastUs = Date.now() * 1_000;

/** A new event for a webhook, later than those before. `data` is JSON. */
export function firstTry(
  webhookId: string,
  data = '{"n":1}',
  fields: Partial<FirstTry['delivery']> = {},
): FirstTry {
  lastUs += 1;
  const eventId = timedId('event', lastUs, 'order.created');
  const delivery = {
    webhook_id: webhookId,
    id: timedId('webhookDelivery', lastUs, `${webhookId} ${eventId}`),
    event_id: eventId,
    event_type: 'order.created',
    conversation_id: null,
    sequence: null,
    head: null,
    resource_id: eventId,
    change: null,
    occurred_at: new Date(lastUs / 1_000).toISOString(),
    trace: null,
    url: null,
    attempts: 0,
    ...fields,
  };
  return { delivery, data };
}
