import { MESSAGE_LIMITS } from '../../../contract/protocol/resources/chat-message.ts';
import type { ConversationFacts } from '../../conversations/directory.ts';
import { mentionedNames } from './mentioned-names.ts';

/** The mentions of a message. */
export interface Mentioning {
  /** Ids of actors and agents, as the caller listed them. */
  readonly listed: readonly string[];
  readonly text: string | null | undefined;
  readonly authorId: string | null;
}

/**
 * Returns the actors that a message mentions: the listed ones, then the participants that its text
 * names with an `@`, up to the limit (docs/decisions.md#mentions-in-the-text). Null: none.
 */
export function allMentions(
  { listed, text, authorId }: Mentioning,
  facts: ConversationFacts,
): string[] | null {
  const mentions = new Set(listed.map((id) => mentionedActor(id, facts)));
  const author = facts.members.get(authorId ?? '')?.type;
  const names = author === 'customer' ? [] : mentionedNames(text ?? '');
  for (const name of names) {
    if (mentions.size >= MESSAGE_LIMITS.mentions) break;
    const actorId = actorsByName(facts).get(name);
    if (!actorId || (author === 'agent' && facts.members.get(actorId)?.type === 'agent')) continue;
    mentions.add(actorId);
  }
  return mentions.size === 0 ? null : [...mentions];
}

/**
 * Returns the id of the actor that a listed id stands for: an agent of the conversation may be
 * listed by its own id.
 */
export function mentionedActor(id: string, { members, agents }: ConversationFacts): string {
  return members.has(id) ? id : (agents.find((agent) => agent.id === id)?.actorId ?? id);
}

/** Actor ids by lower-case name; null if several participants have the name. */
function actorsByName(facts: ConversationFacts): ReadonlyMap<string, string | null> {
  const known = indexes.get(facts);
  if (known !== undefined) return known;
  const index = new Map<string, string | null>();
  for (const [actorId, { type, actor }] of facts.members) {
    const name = type === 'user' ? actor.handle?.split('@')[0]?.toLowerCase() : undefined;
    if (name) index.set(name, index.has(name) ? null : actorId);
  }
  // A slug is unique in its account, so it wins over an address.
  for (const { slug, actorId } of facts.agents) if (slug !== null) index.set(slug, actorId);
  indexes.set(facts, index);
  return index;
}

/** Changed facts are new objects, so an index lives as long as its facts. */
const indexes = new WeakMap<ConversationFacts, ReadonlyMap<string, string | null>>();
