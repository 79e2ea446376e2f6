/**
 * Loaded into a server (`--import`): on the runner's request, profiles its processor and reports
 * where the samples fell.
 */

import { Session } from 'node:inspector/promises';
import type { Profile } from '../lib/profile-parts.ts';
import { onQuestion } from './questions.ts';

const session = new Session();
session.connect();

onQuestion('profile', async (asked) => {
  if (asked === 'start') {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
    await session.post('Profiler.start');
    process.send?.({ profiling: true });
  } else {
    const { profile } = await session.post('Profiler.stop');
    const nodes = profile.nodes.map(
      ({ id, callFrame: { url, functionName }, hitCount = 0, children = [] }) => ({
        id,
        url,
        name: functionName,
        samples: hitCount,
        children,
      }),
    );
    process.send?.(nodes satisfies Profile);
  }
});

const INTERVAL_US = 500;
