import { toolSlugOf } from '@parley/protocol/resources/available-tool.ts';
import type { Version } from '@parley/protocol/versions.ts';

/** The facts of an endpoint that its tool shows or uses (api/pipeline/route.ts). */
export interface EndpointFacts {
  readonly name: string;
  readonly method: string;
  /** Parameters are written `:name`. */
  readonly path: string;
  readonly summary: string;
  readonly since: Version;
  /** Null if any valid credential suffices. */
  readonly permission: string | null;
  /** A permission that suffices for the caller's own. */
  readonly own?: { readonly permission: string };
  readonly agents?: boolean;
  readonly customers?: boolean;
  readonly secret?: boolean;
  /** Whether a POST only asks. */
  readonly asks?: boolean | undefined;
  /** Whether a call with this body reaches people outside the account. Without it, no call does. */
  reachesOutside?(body: unknown): boolean;
  /** JSON Schema of an object; array parameters are named with `[]`. */
  readonly query?: object;
  /** JSON Schema of an object. */
  readonly body?: object;
  /** JSON Schema of the answer. */
  readonly response?: object;
}

/** Returns the endpoints of endpoint tools, sorted by slug: `send_message` is `send-message`. */
export function endpointTools(routes: readonly EndpointFacts[]): ReadonlyMap<string, EndpointFacts> {
  return new Map(
    routes
      .flatMap((facts) => {
        const slug = toolSlugOf(facts);
        return slug === undefined ? [] : [[slug, facts] as const];
      })
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Returns whether a call only reads. */
export function isRead({ method, asks }: EndpointFacts): boolean {
  return method === 'GET' || asks === true;
}
