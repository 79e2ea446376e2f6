import type { EngineShard } from '../../../platform/engine/engine.ts';
import type { Engine } from '../../frames/engine.ts';
import type { Acknowledged, Outgoing } from './outgoing.ts';
import { WritePath, type WritePathOptions } from './write-path.ts';

/**
 * A write path for each shard of the engine: messages whose numbers come from different Redis never
 * share a flush, so that one that hangs delays its own conversations alone.
 */
export class WritePaths {
  readonly #engine: Pick<Engine, 'shardOf'>;
  readonly #options: WritePathOptions;
  readonly #paths = new Map<EngineShard, WritePath>();

  constructor(engine: Pick<Engine, 'shardOf'>, options: WritePathOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  append(outgoing: Outgoing): Promise<Acknowledged> {
    const shard = this.#engine.shardOf(outgoing.message.conversation_id);
    let path = this.#paths.get(shard);
    if (path === undefined) {
      path = new WritePath(this.#options);
      this.#paths.set(shard, path);
    }
    return path.append(outgoing);
  }

  async idle(): Promise<void> {
    await Promise.all([...this.#paths.values()].map((path) => path.idle()));
  }
}
