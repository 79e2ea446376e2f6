import { ApiError } from '@parley/protocol/errors/errors.ts';
import type {
  NewQuestionCallbacks,
  QuestionCallbacks,
} from '@parley/protocol/resources/question-callbacks.ts';
import { keptName, type Version } from '@parley/protocol/versions.ts';
import type { Principal } from '../../api/access/principal.ts';
import { lockAccount } from '../../core/accounts/account/accounts.ts';
import { auditAccount } from '../../core/audit/audit.ts';
import { shownSecret } from '../../core/events/receiver-signature.ts';
import type { CallbacksOfQuestions } from '../../core/messages/rules/questions.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { addWebhook, rotateSecret, type WebhookRow } from './webhook-store.ts';

/**
 * Callbacks of questions are deliveries of one webhook of the account that listens to nothing and
 * that lists do not show (DECISIONS.md#a-callback-is-a-delivery): it has their secret, their
 * version and their lane, and each delivery its own URL.
 */
export async function findCallbacks(db: Db, accountId: string): Promise<WebhookRow | undefined> {
  return db.kysely
    .selectFrom('webhooks')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('is_callback', '=', true)
    .executeTakeFirst();
}

/** The URL of the webhook itself, to which nothing is sent. */
const NOWHERE = 'https://callbacks.invalid/';

export const callbacks: CallbacksOfQuestions = {
  async require(db, accountId, param) {
    if ((await findCallbacks(db, accountId)) !== undefined) return;
    throw new ApiError(
      'resource_conflict',
      'The account has no secret for callbacks. An admin makes it with Rotate Question Callback Secret.',
      { param },
    );
  },
};

/** Makes the secret, or another one, beside which the one before signs for some time. */
export async function rotateCallbackSecret(
  tx: Tx,
  principal: Principal,
  version: Version,
): Promise<NewQuestionCallbacks> {
  const { accountId, actor } = principal;
  await lockAccount(tx, accountId);
  const known = await findCallbacks(tx, accountId);
  const row =
    known === undefined
      ? await addWebhook(tx, {
          account_id: accountId,
          url: NOWHERE,
          event_types: [],
          include_direct: true,
          is_callback: true,
          status: 'disabled',
          version: keptName(version),
          created_by: actor.id,
        })
      : await rotateSecret(tx, known);
  await auditAccount(tx, principal, 'webhook.secret_rotated', { webhook_id: row.id, callbacks: true });
  return { ...presentCallbacks(row), secret: shownSecret(row.secret) };
}

export function presentCallbacks(row: WebhookRow | undefined): QuestionCallbacks {
  const until = row?.previous_secret_until ?? null;
  return {
    object: 'question_callbacks',
    has_secret: row !== undefined,
    previous_secret_until: until !== null && Date.parse(until) > Date.now() ? until : null,
    updated_at: row?.updated_at ?? null,
  };
}
