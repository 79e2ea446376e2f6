import { setTimeout as delay } from 'node:timers/promises';
import { isUnavailable } from '../../db/unavailable.ts';
import { Stop } from './failure.ts';

const MAX_MS = 30_000;
const AGAIN_MS = 500;

/**
 * Work with Postgres, done again while that is away: what a model has said is worth more than some seconds. What was
 * carried out although nobody heard of it is not done twice: fences, states and keys refuse it. A server that is
 * stopped does not wait.
 */
export async function untilBack<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (const beganMs = performance.now(); ; await delay(AGAIN_MS)) {
    try {
      return await work();
    } catch (error) {
      const isStopping = signal.reason instanceof Stop && signal.reason.reason === 'stopping';
      if (isStopping || !isUnavailable(error) || performance.now() - beganMs > MAX_MS) throw error;
    }
  }
}
