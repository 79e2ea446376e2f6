import { setTimeout as pause } from 'node:timers/promises';
import type { Transport } from '@parley/client';
import { BLOCKS, type Block, BlockingProxy } from './blocking-proxy.ts';
import type { TestNode } from './node.ts';
import type { Random } from './random.ts';
import type { Teardown } from './teardown.ts';

/** The behaviours of a proxy through which clients of the SDK reach the nodes. */
export const WAYS = {
  streams: { block: 'refusing', transports: ['websocket', 'stream'] },
  'streams-mute': { block: 'mute to sockets', transports: ['websocket', 'stream'] },
  polls: { block: 'buffering', transports: ['websocket', 'poll'] },
  'polls-mute': { block: 'mute', transports: ['websocket', 'stream', 'poll'] },
  /** The proxies change their behaviour every few seconds. */
  changing: { block: 'open', transports: ['websocket', 'stream', 'poll'] },
} as const satisfies Readonly<Record<string, { block: Block; transports: readonly Transport[] }>>;

/** `sockets`: clients of the protocol itself, without a proxy. */
export type WayName = keyof typeof WAYS | 'sockets';

/** The proxies of several ways, one before each node. */
export class Ways {
  readonly #proxies: ReadonlyMap<WayName, readonly BlockingProxy[]>;

  static async start(t: Teardown, names: readonly WayName[], nodes: readonly TestNode[]): Promise<Ways> {
    const proxies = new Map<WayName, readonly BlockingProxy[]>();
    for (const name of names) {
      if (name === 'sockets') continue;
      const { block } = WAYS[name];
      const started = nodes.map(({ baseUrl }) => BlockingProxy.start(t, baseUrl, block));
      proxies.set(name, await Promise.all(started));
    }
    return new Ways(proxies);
  }

  private constructor(proxies: ReadonlyMap<WayName, readonly BlockingProxy[]>) {
    this.#proxies = proxies;
  }

  /** Returns the address of any node on this way. */
  url(name: WayName, random: Random): string {
    return random.pick(this.#proxies.get(name)!).url;
  }

  /** Leads a proxy to another node, which has replaced its node. */
  lead(index: number, nodeUrl: string): void {
    for (const proxies of this.#proxies.values()) proxies[index]!.target = nodeUrl;
  }

  /**
   * Changes the behaviour of one proxy after the other on the changing way: its open connections
   * are cut, or held back from then on.
   */
  async change(
    random: Random,
    { isOver, changed }: { isOver: () => boolean; changed: (block: Block) => void },
  ): Promise<void> {
    const proxies = this.#proxies.get('changing');
    const blocks = Object.keys(BLOCKS) as Block[];
    while (proxies !== undefined && !isOver()) {
      const proxy = random.pick(proxies);
      proxy.block = random.pick(blocks);
      if (random.below(2) === 0) proxy.cut();
      changed(proxy.block);
      await pause(1_000 + random.below(2_000));
    }
  }
}
