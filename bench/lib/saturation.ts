import type { Block } from './pairs.ts';
import { type Charged, startMeter } from './processor-time.ts';
import type { RawSubscribers } from './raw-subscribers.ts';

export interface SaturationOptions {
  readonly subscribers: RawSubscribers;
  readonly charged: Charged;
  /** Makes the server send `burst` messages to every subscriber. */
  readonly trigger: () => void;
  /** Default 1. */
  readonly burst?: number;
  /** Bursts in flight: sent, and not yet received by all. */
  readonly window: number;
  readonly durationMs: number;
}

/**
 * Runs a closed loop over the deliveries: the next burst goes off whenever a burst's number of
 * frames has arrived. So the server is never idle, its buffers stay short, and bursts of one
 * message arrive one by one rather than in heaps. Rejects when a frame was lost. The figure is
 * deliveries a second.
 */
export async function saturate(options: SaturationOptions): Promise<Block> {
  const { subscribers, charged, trigger, burst = 1, window, durationMs } = options;
  const count = subscribers.count * burst;
  const base = subscribers.deliveries;
  let sent = 0;
  let stopped = false;
  const refill = () => {
    if (stopped) return;
    const arrived = Math.floor((subscribers.deliveries - base) / count);
    for (; sent < arrived + window; sent++) trigger();
    subscribers.whenDelivered(base + (arrived + 1) * count, refill);
  };
  refill();
  await pause(SETTLE_MS);
  const from = look(subscribers);
  const used = startMeter(charged);
  await pause(durationMs);
  const to = look(subscribers);
  const deliveries = to.deliveries - from.deliveries;
  const processor = used(deliveries);
  stopped = true;
  await subscribers.delivered(base + sent * count, PATIENCE_MS);
  if (subscribers.lost > 0) throw new Error(`the server closed ${subscribers.lost} sockets`);
  return {
    figure: (deliveries * 1_000) / (to.atMs - from.atMs),
    processor,
    notes: { frames_a_read: round(deliveries / (to.reads - from.reads)) },
  };
}

const SETTLE_MS = 300;
const PATIENCE_MS = 10_000;

function look({ deliveries, reads }: RawSubscribers) {
  return { deliveries, reads, atMs: performance.now() };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
