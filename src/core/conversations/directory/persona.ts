import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { CUSTOMER_SERVICE } from '../../accounts/groups/groups.ts';

/** SQL: the inbox `i` and the widget `w` of a conversation `c`, unless they were removed. */
export const ORIGIN_OF_CASE = `LEFT JOIN inboxes i ON i.id = c.inbox_id AND i.deleted_at IS NULL
      LEFT JOIN widgets w ON w.id = c.widget_id`;

/**
 * SQL: the id of the group that customers see as the sender of replies in the case `c`. It is that
 * of its inbox `i` or widget `w`, else the account's persona, whose name the parameter is.
 */
export function personaGroup(name: `$${number}`): string {
  return `coalesce(i.group_id, w.group_id,
          (SELECT s.id FROM messaging_groups s WHERE s.account_id = c.account_id AND s.name = ${name}))`;
}

/** Returns the actor of the persona of a case, or null if the account has none. */
export async function readPersonaId(db: Db, caseId: string): Promise<string | null> {
  const [row] = await db.query(READ, caseId, CUSTOMER_SERVICE);
  return row?.actor_id ?? null;
}

const READ = statement<[caseId: string, personaName: string], { actor_id: string }>('read-persona')`
    SELECT g.actor_id FROM conversations c ${ORIGIN_OF_CASE}
      JOIN messaging_groups g ON g.id = ${personaGroup('$2')}
    WHERE c.id = $1`;
