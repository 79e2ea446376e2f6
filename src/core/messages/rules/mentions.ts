import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';
import type { ConversationFacts } from '../../conversations/directory/directory.ts';
import { mentionedNames } from './mentioned-names.ts';

/**
 * Returns the actors that a message mentions, or null for none: the listed ones, then participants
 * named with an `@` in its text, up to the limit (DECISIONS.md#mentions-in-the-text).
 * `listed` are ids of actors and agents.
 */
export function allMentions(
  facts: ConversationFacts,
  authorId: string | null,
  text: string | null | undefined,
  listed: readonly string[],
): string[] | null {
  if (listed.length === 0 && !text?.includes('@')) return null;
  const mentions = new Set(listed.map((id) => mentionedActor(id, facts)));
  for (const actorId of namedActors(facts, authorId, text)) {
    if (mentions.size >= MESSAGE_LIMITS.mentions) break;
    mentions.add(actorId);
  }
  return mentions.size === 0 ? null : [...mentions];
}

/** Returns the actors that a text names with an `@` and may mention, each once. */
export function namedActors(
  facts: ConversationFacts,
  authorId: string | null,
  text: string | null | undefined,
): readonly string[] {
  const author = facts.members.get(authorId ?? '')?.type;
  if (author === 'customer' || !text?.includes('@')) return [];
  const actors = [...mentionedNames(text)].flatMap((name) => actorsByName(facts).get(name) ?? []);
  const isNamed = (id: string) => author !== 'agent' || facts.members.get(id)?.type !== 'agent';
  return [...new Set(actors)].filter(isNamed);
}

/** Returns the actor of a listed id, which may be the own id of an agent of the conversation. */
export function mentionedActor(id: string, { members, agents }: ConversationFacts): string {
  return members.has(id) ? id : (agents.find((agent) => agent.id === id)?.actorId ?? id);
}

/** Returns actor ids by lower-case name; null if several participants have the name. */
function actorsByName(facts: ConversationFacts): ReadonlyMap<string, string | null> {
  const known = indexes.get(facts);
  if (known !== undefined) return known;
  const index = new Map<string, string | null>();
  for (const [actorId, { type, actor }] of facts.members) {
    const name =
      facts.namesAddresses && type === 'user' ? actor.handle?.split('@')[0]?.toLowerCase() : undefined;
    if (name) index.set(name, index.has(name) ? null : actorId);
  }
  // Usernames and slugs are unique in their account, so they win over addresses.
  for (const [actorId, { actor }] of facts.members) {
    if (actor.username) index.set(actor.username, actorId);
  }
  for (const { slug, actorId } of facts.agents) if (slug !== null) index.set(slug, actorId);
  indexes.set(facts, index);
  return index;
}

/** An index lives as long as its facts, because changed facts are new objects. */
const indexes = new WeakMap<ConversationFacts, ReadonlyMap<string, string | null>>();
