import { HttpConnections } from './http-connections.ts';
import { type OpenLoopReport, openLoop } from './open-loop.ts';
import { exponential } from './tokens.ts';

export interface RateOptions {
  readonly port: number;
  /** Number of connections. */
  readonly size: number;
  readonly ratePerSecond: number;
  readonly durationMs: number;
  readonly seed: number;
  /** Returns the next request, whose answer has to be a 201. */
  readonly request: () => Buffer;
}

/**
 * Sends requests in an open loop at gaps drawn by `seed`, over connections of its own. Rejects when
 * a request is refused.
 */
export async function requestAtRate(options: RateOptions): Promise<OpenLoopReport> {
  const { port, size, ratePerSecond, durationMs, seed, request } = options;
  // Each loop has new connections: servers cut idle ones while other sides have their turn.
  const connections = await HttpConnections.open({ host: '127.0.0.1', port, size });
  try {
    const report = await openLoop({
      ratePerSecond,
      durationMs,
      gapMs: exponential(1_000 / ratePerSecond, seed),
      send: (_, done) => connections.send(request(), (status) => done(status === 201)),
    });
    if (report.failed > 0) throw new Error(`${report.failed} of ${report.sent} requests failed`);
    return report;
  } finally {
    connections.close();
  }
}
