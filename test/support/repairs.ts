import type { TestNode } from './node.ts';

/** Losses that these nodes noticed and repaired since they started. */
export interface Repairs {
  /** Frames that were missing. */
  readonly frames: number;
  readonly rounds: number;
  readonly streams: number;
}

export async function repairsOf(nodes: readonly TestNode[]): Promise<Repairs> {
  const sum = async (...names: string[]) => {
    const values = await Promise.all(nodes.flatMap((node) => names.map((name) => node.metric(name))));
    return values.reduce((sum, value) => sum + value, 0);
  };
  return {
    frames: await sum('parley_engine_lost_frames_total'),
    rounds: await sum(...['frames', 'silence'].map((reason) => `parley_repairs_total{reason="${reason}"}`)),
    streams: await sum('parley_repaired_streams_total'),
  };
}
