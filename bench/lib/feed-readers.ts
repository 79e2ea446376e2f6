import { Tokens } from '../../src/api/access/tokens.ts';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import { GENERATORS, type GeneratorName } from './generators.ts';
import type { Side } from './pairs.ts';
import type { BenchDatabase } from './postgres.ts';
import { startMeter } from './processor-time.ts';
import type { Product } from './product.ts';
import type { ServerProcess } from './server-process.ts';

/** A person of the demo account, and the headers with which it reads its feed. */
export interface FeedReader {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
}

export const READERS = 64;
/** Rows of a page. */
export const PAGE = 20;
export const PAGE_PATH = `/v1/messaging/notifications?limit=${PAGE}`;

/** Creates people with empty feeds, and access tokens. */
export async function createReaders(
  { demo }: Product,
  { database }: BenchDatabase,
): Promise<readonly FeedReader[]> {
  const accountId = demo.account_id;
  const tokens = await Tokens.open({ database });
  const ids = await database.transaction(async (tx) => {
    const { id: roleId } = await findRole(tx, accountId, 'viewer');
    const created: string[] = [];
    for (let n = 0; n < READERS; n++) {
      const person = { accountId, name: `Reader ${n}`, email: `reader-${n}@example.com`, roleId };
      created.push((await createUser(tx, person)).user.id);
    }
    return created;
  });
  return Promise.all(
    ids.map(async (id) => {
      const { token } = await tokens.issueAccess({ accountId, actorId: id });
      const headers = {
        Authorization: `Bearer ${token}`,
        'Service-Version': demo.service_version,
        'Service-Account': accountId,
      };
      return { id, headers };
    }),
  );
}

export interface PagesOptions {
  readonly name: string;
  readonly process: ServerProcess;
  readonly port: number;
  readonly postgres: BenchDatabase;
  readonly readers: readonly FeedReader[];
  readonly connections: number;
  readonly generator?: GeneratorName;
}

/** Reads first pages of feeds, each connection keeping to one reader. */
export function pagesSide(options: PagesOptions): Side {
  const { name, process, port, postgres, readers, connections, generator = 'raw' } = options;
  return {
    name,
    run: async (durationMs) => {
      const used = startMeter({ servers: [process], postgres });
      const report = await GENERATORS[generator]({
        port,
        connections,
        durationMs,
        headers: (connection) => readers[connection % readers.length]!.headers,
        path: () => PAGE_PATH,
      });
      return {
        figure: report.perSecond,
        operations: report.answered,
        processor: used(report.answered),
        notes: { p50_ms: report.p50Ms, p99_ms: report.p99Ms },
      };
    },
  };
}
