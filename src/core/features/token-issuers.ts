import type { Db } from '../../platform/db/connection/handle.ts';

declare module '../../platform/hooks.ts' {
  interface HookTable {
    /**
     * Returns the addresses of servers that issue tokens for callers of an account, by which they
     * can sign in. Without the feature, callers have our own credentials alone.
     */
    tokenIssuers(db: Db, accountId: string): Promise<readonly string[]>;
  }
}

export async function tokenIssuersOf(db: Db, accountId: string): Promise<readonly string[]> {
  return (await db.hooks.first('tokenIssuers')?.(db, accountId)) ?? [];
}
