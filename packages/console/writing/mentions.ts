import type { Asked } from '@parley/client/writing/mention-words.ts';
import { proseOf } from '@parley/markdown/prose.ts';
import type { Actor } from '@parley/protocol/resources/actor.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { Person } from '@parley/protocol/resources/person.ts';
import type { Mention } from '../session/kept-writing.ts';
import { texts } from '../texts/texts.ts';

/** A person or agent that a text may mention. */
export interface Candidate extends Mention {
  readonly detail: string;
  readonly avatarUrl: string | null;
  /** Others are not notified: a message mentions members of its conversation. */
  readonly isMember: boolean;
}

/** Returns the name of an emoji that is being written at the caret, or null. */
export function emojiAskedAt(text: string, caret: number): Asked | null {
  const found = /(?:^|[\s([{"'*_]):([a-z0-9_+-]{2,40}:?)$/iu.exec(text.slice(0, caret));
  return found === null ? null : { from: caret - found[1]!.length - 1, words: found[1]! };
}

/** Returns the members of a conversation that may be mentioned: people first, then agents. */
export function membersOf(participants: readonly Participant[], ownId: string): Candidate[] {
  const candidates = participants.flatMap(({ type, actor }): Candidate[] => {
    if ((type !== 'user' && type !== 'agent') || actor === null || actor.id === ownId) return [];
    const { id, name, avatar_url: avatarUrl } = actor;
    if (name === null) return [];
    return [{ id, name, type, detail: detailOf(actor), avatarUrl, isMember: true }];
  });
  return candidates.sort((one, other) => Number(one.type === 'agent') - Number(other.type === 'agent'));
}

/** Returns the account's people who are no members. */
export function othersOf(
  people: readonly Person[],
  members: readonly Candidate[],
  ownId: string,
): Candidate[] {
  const known = new Set([ownId, ...members.map(({ id }) => id)]);
  return people.flatMap((person) => {
    const { id, type, name, avatar_url: avatarUrl } = person;
    if (name === null || known.has(id)) return [];
    return [{ id, name, type, detail: detailOf(person), avatarUrl, isMember: false }];
  });
}

/** Returns what tells people of one name apart; a user may have neither. */
function detailOf({ type, username, handle }: Pick<Actor, 'type' | 'username' | 'handle'>): string {
  return type === 'agent' ? texts.writing.agent : (username ?? handle ?? '');
}

/** Returns the chosen people whose names are still in the prose of a text, each once. */
export function mentionsIn(text: string, chosen: readonly Mention[]): Mention[] {
  const found = new Map<string, Mention>();
  if (chosen.length === 0) return [];
  const prose = proseOf(text);
  for (const mention of chosen) if (prose.includes(`@${mention.name}`)) found.set(mention.id, mention);
  return [...found.values()];
}
