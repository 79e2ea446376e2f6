import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { Erasure } from '@parley/protocol/resources/erasure.ts';
import type { Principal } from '../../api/access/principal.ts';
import { rewriteStoredAnswers } from '../../api/access/stored-answers.ts';
import { lockAccount } from '../../core/accounts/account/accounts.ts';
import { lockPerson } from '../../core/accounts/actors/persons.ts';
import { enqueueRightsChanged } from '../../core/accounts/rights/rights-changed.ts';
import { requireAnotherAdmin } from '../../core/accounts/users/user-changes.ts';
import { withdrawUploads } from '../../core/attachments/uploads.ts';
import { auditAccount } from '../../core/audit/audit.ts';
import { readHeldConversationsOf } from '../../core/conversations/rows/participant-store.ts';
import { allHoldings } from '../../core/features/all-holdings.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { addComplianceJob, type ComplianceJobRow, endExportsOf } from './jobs/job-store.ts';
import { removeRowsOf } from './remove-rows.ts';
import { withoutPerson } from './without-person.ts';

export interface ErasureOptions {
  readonly messages: Erasure['messages'];
  /** The held conversations known at the time of the request. */
  readonly held_conversations: readonly string[];
  /** The name and addresses to find in texts; kept until no text contains them. */
  readonly names?: readonly string[];
}

/**
 * Erase User (docs/contract.md#erasing-a-person): the profile becomes "Deleted user", credentials
 * end, and a job erases the rest (eraser.ts). It may be repeated, to erase content that was held
 * before. Throws ApiError `resource_not_found` (param id) or `resource_conflict`.
 */
export async function eraseUser(
  tx: Tx,
  principal: Principal,
  id: string,
  messages: Erasure['messages'],
): Promise<ComplianceJobRow> {
  const { accountId, actor } = principal;
  // Two admins cannot erase each other at the same moment.
  await lockAccount(tx, accountId);
  const person = await lockPerson(tx, accountId, id);
  if (person === undefined) throw notFound('user', 'id');
  if (id === actor.id)
    throw new ApiError('resource_conflict', 'You cannot erase yourself. Another admin can.');
  if (person.role_type === 'admin' && person.deactivated_at === null) {
    await requireAnotherAdmin(tx, accountId, id, 'erased');
  }
  const held = await readHeldConversationsOf(tx, id);
  const known =
    person.erased_at === null ? [person.name, person.handle, person.email, person.proven_address] : [];
  const options: ErasureOptions = {
    messages,
    held_conversations: held,
    names: [...new Set(known.flatMap((name) => name || []))],
  };
  for (const holdings of allHoldings(tx)) {
    await withdrawUploads(tx, await removeRowsOf(tx, holdings, 'person', [id]));
    await holdings.blankPerson?.(tx, person);
  }
  await endExportsOf(tx, [id]);
  await rewriteStoredAnswers(tx, accountId, [id], (answer) => withoutPerson(answer, id));
  const jobId = newId('erasure');
  await auditAccount(tx, principal, 'user.erased', { user_id: id, erasure_id: jobId, messages });
  await enqueueRightsChanged(tx, [id]);
  const job = { id: jobId, account_id: accountId, subject_id: id, requested_by: actor.id };
  return addComplianceJob(tx, { ...job, kind: 'user_erasure' }, { options, afterMs: SETTLE_MS });
}

/** Milliseconds within which every node has learned of the change and ended the person's sends. */
const SETTLE_MS = 1_000;
