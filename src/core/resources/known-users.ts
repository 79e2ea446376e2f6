import { knowsUsers, type Principal } from '../../api/access/principal.ts';
import { IS_MEMBER } from './membership.ts';

/**
 * The one rule of which users a caller knows (DECISIONS.md#users-that-a-caller-knows). Agents,
 * groups and keys are known to the whole team, and customers have rules of their own.
 */

/** An actor that knows its companions alone; null stands for a reader that knows every user. */
export type Acquainted = string | null;

/** Returns how far the caller knows the users of its account. */
export function acquainted(principal: Principal): Acquainted {
  const { people, customer, actor } = principal;
  return people === 'everyone' || customer || knowsUsers(principal) ? null : actor.id;
}

/** SQL, SELECT: the actors `theirs` that share a conversation with this one, and itself. */
export function companionsOf(actorId: string): string {
  return `SELECT theirs.actor_id FROM participants mine JOIN participants theirs ON theirs.conversation_id = mine.conversation_id
      WHERE mine.actor_id = ${actorId} AND mine.${IS_MEMBER} AND theirs.${IS_MEMBER}`;
}

/**
 * SQL: whether an Acquainted, a parameter, knows the actor under an alias. Null costs no look-up.
 */
export function isKnown(acquainted: `$${number}`, a = 'a'): string {
  return `(${acquainted}::text IS NULL OR ${isCompanion(acquainted, a)})`;
}

/** SQL: whether an actor that knows its companions alone knows the actor under an alias. */
export function isCompanion(actorId: string, a = 'a'): string {
  return `(${a}.type <> 'user' OR ${a}.customer OR ${a}.id = ${actorId}
      OR EXISTS (${companionsOf(actorId)} AND theirs.actor_id = ${a}.id))`;
}

/**
 * Returns whether the members of a conversation, which the caller reads, all know it: only admins
 * read conversations without being members.
 */
export function isKnownIn(
  { people, admin, actor }: Principal,
  members: ReadonlyMap<string, unknown> | undefined,
): boolean {
  return people === 'everyone' || !admin || actor.type !== 'user' || members?.has(actor.id) === true;
}
