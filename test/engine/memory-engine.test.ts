import t from 'tap';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { engineContract } from './contract.ts';

engineContract(t, async () => {
  const engine = new MemoryEngine();
  return { a: engine, b: engine };
});
