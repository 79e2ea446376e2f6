/**
 * Loaded into a server (`--import`): on the runner's request, reports how many bytes were allocated
 * since the last request, from the counters that V8's collector notes before and after each of its
 * runs. Counts from the first request on.
 */

import { GCProfiler, getHeapStatistics } from 'node:v8';
import { onQuestion } from './questions.ts';

export interface Allocated {
  readonly heapBytes: number;
  /** Contents of buffers, which lie outside the heap. */
  readonly bufferBytes: number;
}

let last = usedNow();
let profiler: GCProfiler | undefined;

onQuestion('allocated', () => {
  const sum = { heapBytes: 0, bufferBytes: 0 };
  const add = (used: Used) => {
    sum.heapBytes += used.heap - last.heap;
    sum.bufferBytes += used.buffers - last.buffers;
  };
  for (const { beforeGC, afterGC } of profiler?.stop().statistics ?? []) {
    add(usedIn(beforeGC.heapStatistics));
    last = usedIn(afterGC.heapStatistics);
  }
  add(usedNow());
  process.send?.(sum satisfies Allocated);
  profiler = new GCProfiler();
  last = usedNow();
  profiler.start();
});

interface Used {
  readonly heap: number;
  readonly buffers: number;
}

function usedNow(): Used {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return { heap: used_heap_size, buffers: external_memory };
}

function usedIn(statistics: { readonly usedHeapSize: number; readonly externalMemory: number }): Used {
  return { heap: statistics.usedHeapSize, buffers: statistics.externalMemory };
}
