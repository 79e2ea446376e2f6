import { ApiError } from '@parley/protocol/errors/errors.ts';
import { isEmail } from '@parley/protocol/schema/formats.ts';
import { oneLine } from '@parley/protocol/schema/one-line.ts';
import { proveAddress } from '../../../core/accounts/actors/proven-address.ts';
import type { ActorRow } from '../../../core/resources/actor.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import type { ProviderRow } from '../providers/provider-store.ts';
import {
  findIdentity,
  type IdentityKey,
  identityHash,
  insertPerson,
  insertUser,
  lockIdentity,
  noteIdentity,
} from './identity-store.ts';

/** A person as an issuer describes it; `subject` alone identifies it. */
export interface NamedPerson {
  readonly subject: string;
  readonly name?: string | undefined;
  /** Set only for an address that the issuer does not call unverified. */
  readonly email?: string | undefined;
}

/** The persons whom identity providers name, created at their first use if the provider allows. */
export class Persons {
  readonly #database: Database;
  readonly #secret: string;

  /** `secret` is the key of the hashes in `identities`. */
  constructor(database: Database, secret: string) {
    this.#database = database;
    this.#secret = secret;
  }

  /**
   * Returns the id of the actor, which may be deactivated. Rejects with ApiError
   * `invalid_credentials` if there is no such person and none is created, or it was erased.
   */
  async personOf(provider: ProviderRow, named: NamedPerson): Promise<string> {
    const key = keyOf(this.#secret, provider, named.subject);
    const known = await readPerson(this.#database, provider, key);
    if (known !== undefined) {
      const address = provenBy(provider, named);
      if (address !== undefined && address !== known.provenAddress)
        await this.#database.transaction((tx) => proveAddress(tx, known.id, address));
      return known.id;
    }
    if (provider.provision === 'off') {
      throw new ApiError(
        'invalid_credentials',
        `There is no ${nounOf(provider)} for the subject of this token, and its identity provider makes none.`,
      );
    }
    return this.#database.transaction((tx) => makePerson(tx, provider, key, named));
  }
}

/**
 * Keeps the identities of a person that is being erased, including the unused identities whose
 * subject is its external id.
 */
export async function keepErased(
  tx: Tx,
  secret: string,
  providers: readonly ProviderRow[],
  person: Pick<ActorRow, 'id' | 'customer' | 'external_id'>,
): Promise<void> {
  const { external_id: externalId } = person;
  if (externalId === null) return;
  for (const provider of providers) {
    if (provider.subject !== 'external_id' || isCustomer(provider) !== person.customer) continue;
    await noteIdentity(tx, keyOf(secret, provider, externalId), person.id);
  }
}

function keyOf(secret: string, provider: ProviderRow, subject: string): IdentityKey {
  return {
    accountId: provider.account_id,
    hash: identityHash(secret, provider.issuer, subject),
    customer: isCustomer(provider),
    externalId: provider.subject === 'external_id' ? subject : null,
  };
}

const NAME_CHARACTERS = 200;

/** An actor that exists. */
interface Known {
  readonly id: string;
  readonly provenAddress: string | null;
}

/** Returns the address that the token of a customer proves, for answers by mail. */
function provenBy(provider: ProviderRow, { email }: NamedPerson): string | undefined {
  return isCustomer(provider) && email !== undefined && isEmail(email) ? email.toLowerCase() : undefined;
}

async function readPerson(
  db: Database | Tx,
  provider: ProviderRow,
  key: IdentityKey,
): Promise<Known | undefined> {
  const found = await findIdentity(db, key);
  if (found.known_id !== null && found.erased) {
    throw new ApiError('invalid_credentials', 'The person of this token was erased.');
  }
  if (key.externalId !== null) {
    const { external_actor_id: id } = found;
    if (id === null) return undefined;
    if (id !== found.known_id) await noteIdentity(db, key, id);
    return { id, provenAddress: found.proven_address };
  }
  if (found.known_id === null) return undefined;
  if (found.customer === key.customer) return { id: found.known_id, provenAddress: found.proven_address };
  throw new ApiError('invalid_credentials', `The person of this token is no ${nounOf(provider)}.`);
}

/** Creates the person, unless one arrived meanwhile by a token or by its external id. */
async function makePerson(
  tx: Tx,
  provider: ProviderRow,
  key: IdentityKey,
  named: NamedPerson,
): Promise<string> {
  await lockIdentity(tx, key);
  const known = await readPerson(tx, provider, key);
  if (known !== undefined) return known.id;
  const { accountId, customer, externalId } = key;
  // A customer gets no handle, because mail finds the cases of a customer by it.
  const email = !customer && named.email !== undefined && isEmail(named.email) ? named.email : null;
  const name = [...oneLine(named.name ?? email ?? '')].slice(0, NAME_CHARACTERS).join('').trim();
  const id = await insertPerson(tx, {
    accountId,
    customer,
    externalId,
    name: name === '' ? (customer ? 'Customer' : 'User') : name,
    handle: null,
    roleId: customer ? null : provider.role_id,
  });
  // Another transaction has created the person and committed by now.
  if (id === undefined) return requirePerson(await readPerson(tx, provider, key));
  if (!customer && (await insertUser(tx, accountId, id, email)) && email !== null) {
    await tx.kysely.updateTable('actors').set({ handle: email.toLowerCase() }).where('id', '=', id).execute();
  }
  await noteIdentity(tx, key, id);
  const address = provenBy(provider, named);
  if (address !== undefined) await proveAddress(tx, id, address);
  return id;
}

function requirePerson(known: Known | undefined): string {
  if (known !== undefined) return known.id;
  throw new ApiError('invalid_credentials', 'The person of this token has just been removed. Try again.');
}

function isCustomer({ person }: Pick<ProviderRow, 'person'>): boolean {
  return person === 'customer';
}

function nounOf(provider: ProviderRow): string {
  return isCustomer(provider) ? 'customer' : 'user';
}
