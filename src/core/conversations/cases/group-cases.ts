import type { GroupCases } from '@parley/protocol/resources/group-cases.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { addJob } from '../../../platform/db/queue/queue.ts';
import { findGroup } from '../../accounts/groups/groups.ts';
import { auditAccount } from '../../audit/audit.ts';
import { TEAMS_CHANGED } from './follow-team.ts';
import { countCases } from './team-store.ts';

/** Returns the counts of a group's open cases. Throws `resource_not_found` (param id). */
export async function readGroupCases(db: Db, accountId: string, id: string): Promise<GroupCases> {
  const group = await findGroup(db, accountId, id);
  const { open, without_members } = await countCases(db, accountId, group.id);
  return { object: 'group_cases', group_id: group.id, open, without_members };
}

/**
 * Has the members of a group join its open cases that lack them, by a job, and returns the counts
 * before. Audited with them. Throws like `readGroupCases`.
 */
export async function joinGroupCases(tx: Tx, principal: Principal, id: string): Promise<GroupCases> {
  const cases = await readGroupCases(tx, principal.accountId, id);
  const { group_id, without_members } = cases;
  if (without_members === 0) return cases;
  const details = { group_id, cases: without_members };
  await auditAccount(tx, principal, 'group.cases_joined', details);
  // Not the key of the jobs that Postgres adds: such a one would replace this.
  await addJob(tx, TEAMS_CHANGED, { group_id, adopts: true }, { key: `adopting team ${group_id}` });
  return cases;
}
