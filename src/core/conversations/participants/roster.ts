import {
  type ApiError,
  deactivatedActor,
  invalid,
  missingField,
  notFound,
  repeated,
} from '@parley/protocol/errors/errors.ts';
import type { ConversationAudience } from '@parley/protocol/resources/conversation.ts';
import type { ParticipantInput } from '@parley/protocol/resources/participant.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { createCustomer, findCustomer } from '../../accounts/actors/actors.ts';
import { createOrChange } from '../../accounts/collections/external-ids.ts';
import { type NamedActor, readNamedActors } from '../../resources/actor.ts';
import { type Acquainted, acquainted, isKnown } from '../../resources/known-users.ts';
import type { NewParticipant } from '../rows/participant-store.ts';

/** A future participant whose actor was checked. */
export interface RosterEntry extends NewParticipant {
  readonly actorId: string;
}

/**
 * Returns the participants of a body that `checkInput` accepts, each with an actor of the account
 * that the caller knows and that matches the body. Creates customers with unknown addresses.
 * `prefixOf` makes the params: `participants[0].`, or an empty prefix if the body is one
 * participant. Throws the first problem.
 */
export async function readRoster(
  tx: Tx,
  caller: Principal,
  audience: ConversationAudience,
  inputs: readonly ParticipantInput[],
  prefixOf: (index: number) => string = () => '',
): Promise<RosterEntry[]> {
  const { accountId } = caller;
  const ids = inputs.flatMap((input) => input.actor_id ?? []);
  const actors = await readNamedActors(tx, caller, ids);
  const entries: RosterEntry[] = [];
  for (const [index, input] of inputs.entries()) {
    const prefix = prefixOf(index);
    if (input.type === 'customer' && audience !== 'customer') throw internalOnly(prefix);
    const actorId =
      input.actor_id === undefined
        ? await customerOf(tx, accountId, input, prefix)
        : fittingActor(actors.get(input.actor_id), input, prefix).id;
    if (entries.some((entry) => entry.actorId === actorId)) {
      throw repeated(`${prefix}${namedBy(input)}`);
    }
    entries.push({
      type: input.type,
      actorId,
      ...(input.role !== undefined && { role: input.role }),
      ...(input.metadata !== undefined && { metadata: input.metadata }),
      ...(input.type === 'agent' && {
        triggerPolicy: input.agent_trigger_policy ?? 'mention',
        triggerKeywords: input.agent_trigger_keywords ?? [],
      }),
    });
  }
  return entries;
}

/**
 * Returns the active users and agents of a group that the caller knows, without customers, in the
 * group's order.
 */
export async function readGroupRoster(tx: Tx, caller: Principal, groupId: string): Promise<RosterEntry[]> {
  const members = await tx.query(READ_GROUP_MEMBERS, groupId, acquainted(caller));
  return members.map(({ id, type }) => ({ type, actorId: id }));
}

const READ_GROUP_MEMBERS = statement<
  [groupId: string, caller: Acquainted],
  { id: string; type: 'user' | 'agent' }
>('read-members-of-group')`
    SELECT a.id, a.type FROM group_members m JOIN actors a ON a.id = m.actor_id
    WHERE m.group_id = $1 AND a.type IN ('user', 'agent') AND NOT a.customer AND a.deactivated_at IS NULL
      AND ${isKnown('$2')}
    ORDER BY m.position`;

/**
 * Makes the first user without a stated role, among those that `may` be it, the owner if none is
 * named (DECISIONS.md#owner-of-a-group-that-an-api-key-begins).
 */
export function withOwner(
  entries: readonly RosterEntry[],
  may: (entry: RosterEntry) => boolean = () => true,
): RosterEntry[] {
  if (entries.some(({ role }) => role === 'owner')) return [...entries];
  const owner = entries.find((entry) => entry.type === 'user' && entry.role === undefined && may(entry));
  return entries.map((entry) => (entry === owner ? { ...entry, role: 'owner' } : entry));
}

/** Keeps the first entry of each actor: the settings of a body override those of a roster. */
export function uniqueActors(entries: readonly RosterEntry[]): RosterEntry[] {
  return [...Map.groupBy(entries, ({ actorId }) => actorId).values()].map(([first]) => first!);
}

/**
 * Checks an agent's trigger (docs/contract.md#participants): keywords belong to the policy
 * `keyword`, which requires them, and to `mention`. Throws `missing_field` or `validation_failed`.
 */
export function checkTrigger(
  policy: NonNullable<NewParticipant['triggerPolicy']>,
  keywords: readonly string[] | undefined,
  prefix = '',
): void {
  const param = `${prefix}agent_trigger_keywords`;
  if (policy === 'keyword' && !keywords?.length) {
    throw missingField(param, 'The policy keyword needs at least one keyword.');
  }
  if (policy === 'always' && keywords !== undefined && keywords.length > 0) {
    throw invalid(param, 'The policy always takes no keywords.');
  }
}

/** Checks what depends only on the body. Throws `missing_field` or `validation_failed`. */
export function checkInput(input: ParticipantInput, prefix = ''): void {
  if (input.type === 'agent') {
    checkTrigger(input.agent_trigger_policy ?? 'mention', input.agent_trigger_keywords, prefix);
  }
  if (input.type !== 'customer') return;
  if (input.actor_id === undefined) {
    if (FIELDS_OF_CUSTOMERS.some((field) => input[field] !== undefined)) return;
    throw missingField(
      `${prefix}actor_id`,
      'Name a customer by actor_id, by name and email, or by external_id.',
    );
  }
  for (const field of FIELDS_OF_CUSTOMERS) {
    if (input[field] === undefined) continue;
    throw invalid(`${prefix}${field}`, 'Send either actor_id, or name, email and external_id.');
  }
}

const FIELDS_OF_CUSTOMERS = ['name', 'email', 'external_id'] as const;

/** Returns the field that says which actor a participant is. */
function namedBy(input: ParticipantInput): string {
  if (input.actor_id !== undefined) return 'actor_id';
  return input.type === 'customer' && input.external_id !== undefined ? 'external_id' : 'email';
}

export function internalOnly(prefix: string): ApiError {
  return invalid(`${prefix}type`, 'Only a conversation with the audience customer has customers.');
}

function fittingActor(actor: NamedActor | undefined, { type }: ParticipantInput, prefix: string): NamedActor {
  const param = `${prefix}actor_id`;
  if (actor === undefined) throw notFound('actor', param);
  const fits =
    type === 'agent'
      ? actor.type === 'agent'
      : actor.type === 'user' && actor.customer === (type === 'customer');
  if (!fits) throw invalid(`${prefix}type`, `This actor is not of the type ${type}.`);
  if (actor.deactivated) throw deactivatedActor(param);
  return actor;
}

/**
 * Returns the customer with the external id, else the one with the address, under its present name,
 * or creates one. Throws `missing_field` (param name).
 */
async function customerOf(
  tx: Tx,
  accountId: string,
  input: ParticipantInput,
  prefix: string,
): Promise<string> {
  if (input.type !== 'customer') throw new TypeError('the schema asks for an actor');
  const { name, email, external_id: externalId } = input;
  const nameOr = (what: string) => {
    if (name !== undefined) return name;
    const message = `No customer of the account has this ${what} yet. Send a name to create one.`;
    throw missingField(`${prefix}name`, message);
  };
  if (externalId !== undefined) {
    const { found } = await createOrChange(tx, {
      accountId,
      kind: 'customer',
      externalId,
      async create() {
        const created = await createCustomer(tx, {
          accountId,
          name: nameOr('external_id'),
          email,
          externalId,
        });
        return created.id;
      },
      change: async (id) => id,
    });
    return found;
  }
  const known = email === undefined ? undefined : await findCustomer(tx, { accountId, email });
  if (known !== undefined) return known;
  return (await createCustomer(tx, { accountId, name: nameOr('address'), email })).id;
}
