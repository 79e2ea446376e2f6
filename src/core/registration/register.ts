import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { RegisterBody, Registration } from '@parley/protocol/resources/api-key.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { createAccount, presentAccount } from '../accounts/account/accounts.ts';
import { createUser, findUser } from '../accounts/actors/users.ts';
import { FIRST_KEY } from '../accounts/installation/operated-accounts.ts';
import { createApiKey, findApiKey } from '../accounts/keys/keys.ts';
import { audit } from '../audit/audit.ts';
import { presentApiKey } from '../resources/api-key.ts';
import { presentUser } from '../resources/user.ts';

/** `PARLEY_REGISTRATION`: a number of accounts, beyond which registration is closed. */
export type RegistrationPolicy = 'closed' | 'open' | number;

/** Throws ApiError `registration_closed` if nobody can register at all. */
export function requireRegistration(policy: RegistrationPolicy): void {
  if (policy === 'closed') throw closed();
}

/**
 * Creates an account with its first admin and a key (docs/contract.md#registration). Throws
 * ApiError `registration_closed` if the deployment has as many accounts as the policy allows.
 */
export async function register(
  tx: Tx,
  policy: RegistrationPolicy,
  { account_name, name, email }: RegisterBody,
): Promise<Registration> {
  await requireRoom(tx, policy);
  const { account, roles } = await createAccount(tx, { name: account_name });
  const [accountId, roleId] = [account.id, roles.admin.id];
  const { user } = await createUser(tx, { accountId, name, email, roleId });
  const { key, apiKey } = await createApiKey(tx, { accountId, name: FIRST_KEY, roleId });
  await audit(tx, {
    accountId,
    actorId: user.id,
    action: 'account.registered',
    details: { user_id: user.id, api_key_id: apiKey.id },
  });
  return {
    object: 'registration',
    account: presentAccount(account),
    user: presentUser(await findUser(tx, accountId, user.id), null),
    api_key: { ...presentApiKey(await findApiKey(tx, accountId, apiKey.id), null), key },
  };
}

/** Requires room; registrations of all nodes take turns, so that each counts earlier commits. */
async function requireRoom(tx: Tx, policy: RegistrationPolicy): Promise<void> {
  requireRegistration(policy);
  if (policy === 'open') return;
  await tx.query(LOCK);
  const [row] = await tx.query(COUNT);
  if (row!.accounts >= Number(policy)) throw closed();
}

function closed(): ApiError {
  return new ApiError('registration_closed', 'Registration is closed. Ask the operator for an account.');
}

/** The advisory lock of registrations: a number that nothing else of Parley uses. */
const LOCK = statement('lock-registrations')`SELECT pg_advisory_xact_lock(7230915022)`;

const COUNT = statement<[], { accounts: number }>('count-accounts')`
    SELECT count(*) AS accounts FROM accounts WHERE deleted_at IS NULL`;
