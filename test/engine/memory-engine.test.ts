import t from 'tap';
import type { Frame } from '../../src/core/frames/frame.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { engineContract } from './contract.ts';

engineContract(t, async () => {
  const engine = new MemoryEngine<Frame>();
  return { a: engine, b: engine };
});
