import { isIP } from 'node:net';

/**
 * The settings that features read. This interface has those of every node; a feature adds its own
 * by `declare module` in its settings.ts, where it reads them from the environment.
 */
export interface NodeSettings {
  /** Has no trailing slash; null if callers use the address listened on. */
  readonly publicUrl: string | null;
  /** Number of nodes that one supervisor runs on this port; 1 without a supervisor. */
  readonly processes: number;
  /** An absolute path. */
  readonly dataDir: string;
  /** Whether there is a demo account. */
  readonly demo: boolean;
  /** A number allows that many accounts. */
  readonly registration: 'closed' | 'open' | number;
  /** Null for plain HTTP. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  /** Null if uploaded files are stored in the data directory. */
  readonly s3: {
    readonly bucket: string;
    readonly region: string;
    readonly endpoint: string | null;
  } | null;
}

declare module '../../platform/hooks.ts' {
  interface HookTable {
    /** Returns the providers of models that a node uses, for the log line of its start. */
    modelProviders(config: NodeSettings): readonly string[];
  }
}

/** Returns the domain of addresses that this node has by default. */
export function mailHostOf(publicUrl: string | null): string {
  const { hostname } = new URL(publicUrl ?? 'http://localhost');
  return isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0 ? hostname : 'localhost';
}
