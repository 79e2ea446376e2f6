import type { PersonRecord } from '../record.ts';
import { nameOf, type Walk } from './walk.ts';

export type ListedPerson = Omit<PersonRecord, 'type' | 'name'> & { readonly name: string | null };

/**
 * Gives the people that an archive lists, and joins none. An address that several people have
 * belongs to the only active person, or to nobody. Returns their names after an `@` by their refs.
 */
export function givePeople(people: readonly ListedPerson[], walk: Walk, where: string): Map<string, string> {
  const mentions = new Map<string, string>();
  const owners = new Map<string, string | null>();
  for (const { ref, email, deactivated } of people) {
    if (email !== null && !deactivated) owners.set(email, owners.has(email) ? null : ref);
  }
  const deactivatedOwners = new Set<string>();
  for (const person of people) {
    const { ref } = person;
    walk.meet('people');
    if (walk.knows(ref)) {
      walk.skip('people', 'duplicate', `The archive lists ${ref} twice.`, where);
      continue;
    }
    const { email } = person;
    let own = email;
    if (email !== null) {
      const owner = owners.get(email);
      const first = owner === undefined && !deactivatedOwners.has(email);
      if (owner !== ref && !first) {
        own = null;
        walk.note('shared_email', `${ref} has the same e-mail address as another person.`, where);
      }
      if (owner === undefined) deactivatedOwners.add(email);
    }
    walk.person({ ...person, email: own, name: nameOf(person.name ?? person.handle, ref) });
    mentions.set(ref, mentionName(person));
  }
  return mentions;
}

/** Returns a name that a text can mention: as Parley does, the address before its `@`. */
function mentionName({ ref, email, email_verified, handle, name }: ListedPerson): string {
  const local = email !== null && email_verified ? email.slice(0, email.indexOf('@')) : null;
  const written = (local ?? handle ?? name ?? ref).trim().replace(/[^\p{L}\p{M}\p{N}._-]+/gu, '.');
  return written.replace(/^[._-]+|[._-]+$/g, '') || ref;
}

/** Returns the address in lower case, or null for other text. */
export function emailOf(value: string | null): string | null {
  const email = value?.trim().toLowerCase() ?? '';
  return email.length <= 254 && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email) ? email : null;
}
