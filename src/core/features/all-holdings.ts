import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { accountHoldings } from '../accounts/holdings.ts';
import { uploadHoldings } from '../attachments/uploads.ts';
import { auditHoldings } from '../audit/holdings.ts';
import { conversationHoldings, memberHoldings } from '../conversations/holdings.ts';
import { viewHoldings } from '../inbox/view-store.ts';
import { inboxHoldings } from '../inbox/writer.ts';
import { messageHoldings } from '../messages/holdings.ts';
import { notificationHoldings } from '../notifications/holdings.ts';
import type { Holdings } from '../resources/holdings.ts';

declare module '../../platform/hooks.ts' {
  interface HookTable {
    holdings: Holdings;
  }
}

/**
 * Returns the holdings of all slices, in the order of exports and erasures. Rows of accounts are
 * removed in the opposite order, since no row refers to a row of later holdings.
 */
export function allHoldings({ hooks }: Pick<Db, 'hooks'>): readonly Holdings[] {
  return [
    accountHoldings,
    uploadHoldings,
    conversationHoldings,
    messageHoldings,
    notificationHoldings,
    memberHoldings,
    inboxHoldings,
    viewHoldings,
    ...hooks.all('holdings'),
    auditHoldings,
  ];
}

/** Returns the tables with rows of an account that belong to a feature left out of this node. */
export async function tablesOfMissing(db: Db, accountId: string): Promise<string[]> {
  const held = allHoldings(db).flatMap(({ tables }) => Object.keys(tables));
  const found: string[] = [];
  for (const { name, rows } of await db.query(READ_REFERRING, held)) {
    if ((await db.query(composeReadRow(name, rows), accountId)).length > 0) found.push(name);
  }
  return found;
}

/** Tables whose rows keep an account, and do not go with rows of another table. */
const READ_REFERRING = statement<[except: readonly string[]], { name: string; rows: string }>(
  'read-tables-referring-to-accounts',
)`
    SELECT DISTINCT ON (name) k.conrelid::regclass::text AS name,
      CASE k.confrelid WHEN 'accounts'::regclass THEN format('%I = $1', a.attname)
        ELSE format('%I IN (SELECT id FROM actors WHERE account_id = $1)', a.attname) END AS rows
    FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
    WHERE k.contype = 'f' AND k.confrelid IN ('accounts'::regclass, 'actors'::regclass)
      AND k.conrelid::regclass::text <> ALL($1)
      AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conrelid = k.conrelid AND c.confdeltype = 'c')
    ORDER BY name, k.confrelid = 'accounts'::regclass DESC`;

function composeReadRow(table: string, rows: string) {
  return statement<[accountId: string], object>(`read-row-of-account-in-${table}`)`
    SELECT FROM ${table} WHERE ${rows} LIMIT 1`;
}
