import type { ObjectStore } from '../../../../core/attachments/storage.ts';
import type { LockedWrites } from '../../../../core/messages/timeline/locked-write.ts';
import type { WritePath } from '../../../../core/messages/timeline/write-path.ts';
import type { Engine } from '../../../../platform/engine/engine.ts';
import type { AddressGuard } from '../../../../platform/outbound/address-guard.ts';
import { GuardedFetch } from '../../../../platform/outbound/guarded-fetch.ts';
import { ModelTiers, type TiersOptions } from '../../models/tiers.ts';
import { Replies } from '../../replies/replies.ts';
import type { ToolCatalogue } from '../../tools/catalogue.ts';
import type { EndpointCaller } from '../../tools/endpoint-tool.ts';
import { Toolbox } from '../../tools/toolbox.ts';
import { Runner, type RunnerOptions } from './runner.ts';

export interface OpenRunnerOptions
  extends Pick<
    RunnerOptions,
    'database' | 'watch' | 'rights' | 'authenticator' | 'directory' | 'metrics' | 'log'
  > {
  readonly engine: Engine;
  readonly store: ObjectStore;
  readonly writePath: WritePath;
  readonly lockedWrites: LockedWrites;
  readonly models: TiersOptions;
  readonly guard: AddressGuard;
  readonly catalogue: ToolCatalogue;
  readonly caller: EndpointCaller;
}

/** Returns this node's runner with its dependencies. `close` ends active runs as they stand. */
export function openRunner(options: OpenRunnerOptions): Pick<Runner, 'due' | 'drain' | 'close'> {
  const { engine, models, guard } = options;
  const replies = new Replies(options);
  const runner = new Runner({
    ...options,
    node: engine.nodeId,
    replies,
    tiers: new ModelTiers(models),
    toolbox: new Toolbox({ ...options, web: new GuardedFetch(guard) }),
  });
  return {
    due: (due) => runner.due(due),
    drain: (ms) => runner.drain(ms),
    async close() {
      await runner.close();
      await replies.close();
    },
  };
}
