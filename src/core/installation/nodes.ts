import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import {
  FIGURES_KEPT_S,
  type InstallationNode,
  NodeFigures,
} from '@parley/protocol/resources/installation.ts';
import type { Health } from '../../api/health.ts';
import { BUILD } from '../../platform/build.ts';
import type { Subscription } from '../../platform/engine/engine.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Engine } from '../frames/engine.ts';
import { FIGURES_KEPT, type Figures, TAKEN_EVERY_MS } from './figures.ts';

export interface NodesOptions {
  readonly engine: Pick<Engine, 'nodeId' | 'subscribe' | 'publish'>;
  /** Whether the nodes are connected by Redis. */
  readonly hasRedis: boolean;
  readonly figures: Figures;
  readonly health: () => Health;
  readonly startedAtMs?: number;
}

/** The state of every node, including this one, from the figures that nodes send each other. */
export class Nodes {
  readonly #options: NodesOptions;
  readonly #known = new Map<string, KnownNode>();
  readonly #about: Pick<Report, 'release' | 'node_version' | 'started_at'>;
  readonly #loop: Loop;
  #subscription: Subscription | undefined;

  constructor(options: NodesOptions) {
    this.#options = options;
    const { startedAtMs = Date.now() } = options;
    this.#about = {
      release: BUILD.version,
      node_version: BUILD.node,
      started_at: wireTime(startedAtMs),
    };
    this.#loop = new Loop({
      intervalMs: TAKEN_EVERY_MS,
      run: () => this.#tell(),
      // The engine reports the lost link itself, and this node has its own figures anyway.
      onError: () => {},
    });
    this.#loop.wake();
  }

  /** Returns the nodes, the oldest first, with their figures of the last `historyS` seconds. */
  list(historyS: number): InstallationNode[] {
    const nowMs = performance.now();
    this.#forget(nowMs);
    return [...this.#known]
      .map(([id, node]) => this.#shown(id, node, nowMs, historyS))
      .sort((a, b) => compare(a.started_at, b.started_at) || compare(a.id, b.id));
  }

  /** Tells the other nodes that this node ends. */
  async close(): Promise<void> {
    await this.#loop.close();
    this.#options.figures.close();
    await this.#publish({ ended: true }).catch(() => {});
    this.#subscription?.unsubscribe();
  }

  async #tell(): Promise<void> {
    const { engine, figures, health, hasRedis } = this.#options;
    const taken = await figures.take();
    this.#subscription ??= await engine.subscribe(CHANNEL, (frame) => {
      if (frame.kind === 'figures') this.#hear(frame.nodeId, frame.report);
    });
    const { engine: link, postgres, files = 'elsewhere', draining } = health();
    const redis = hasRedis ? link : null;
    await this.#publish({ ...this.#about, leaving: draining, postgres, redis, files, figures: taken });
  }

  #publish(report: Report | Ended): Promise<void> {
    const { engine } = this.#options;
    const { nodeId } = engine;
    return engine.publish(CHANNEL, { kind: 'figures', nodeId, report: JSON.stringify(report) });
  }

  #hear(id: string, text: string): void {
    const report = readReport(text);
    if (report === undefined) return;
    if ('ended' in report) {
      this.#known.delete(id);
      return;
    }
    const heardAtMs = performance.now();
    const history = this.#known.get(id)?.history ?? [];
    history.push({ heardAtMs, figures: report.figures });
    if (history.length > FIGURES_KEPT) history.shift();
    this.#known.set(id, { report, heardAtMs, history });
    this.#forget(heardAtMs);
  }

  #forget(nowMs: number): void {
    for (const [id, { heardAtMs }] of this.#known) {
      if (nowMs - heardAtMs > FIGURES_KEPT_S * 1_000) this.#known.delete(id);
    }
  }

  #shown(
    id: string,
    { report, heardAtMs, history }: KnownNode,
    nowMs: number,
    historyS: number,
  ): InstallationNode {
    const { leaving, figures: _, ...about } = report;
    const silentMs = nowMs - heardAtMs;
    const awake = leaving ? 'leaving' : 'up';
    return {
      object: 'installation_node',
      id,
      ...about,
      state: silentMs > SILENT_MS ? 'silent' : awake,
      answers: id === this.#options.engine.nodeId,
      silent_seconds: Math.floor(silentMs / 1_000),
      figures: history.flatMap(({ heardAtMs: atMs, figures }) =>
        nowMs - atMs <= historyS * 1_000 ? [figures] : [],
      ),
    };
  }
}

const CHANNEL = 'figures';

/** Several figures may be lost, or late, before a node counts as silent. */
const SILENT_MS = 10_000;

interface Report
  extends Pick<InstallationNode, 'release' | 'node_version' | 'started_at' | 'postgres' | 'redis' | 'files'> {
  readonly leaving: boolean;
  readonly figures: NodeFigures;
}

interface Ended {
  readonly ended: true;
}

interface KnownNode {
  readonly report: Report;
  /** Milliseconds of the clock of this process. */
  readonly heardAtMs: number;
  /** The oldest first. */
  readonly history: { readonly heardAtMs: number; readonly figures: NodeFigures }[];
}

/**
 * Returns a report without fields that this node does not know, or undefined if it cannot be read.
 */
function readReport(text: string): Report | Ended | undefined {
  try {
    const { ended, leaving, figures, ...about }: Report & Partial<Ended> = JSON.parse(text);
    if (ended === true) return { ended };
    const { release, node_version, started_at, postgres, redis, files } = about;
    const known = Object.keys(NodeFigures.properties).map((name) => [
      name,
      figures[name as keyof NodeFigures],
    ]);
    if (known.some(([, value]) => value === undefined)) return undefined;
    return {
      release,
      node_version,
      started_at,
      postgres,
      redis,
      files,
      leaving,
      figures: Object.fromEntries(known),
    };
  } catch {
    return undefined;
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
