import type { Client } from '@parley/client';
import type { Person } from '@parley/protocol/resources/person.ts';
import type { Choice } from '@parley/ui/choices/choice-line.tsx';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { texts } from '../texts/texts.ts';

/** A person or agent as a choice. */
export interface PersonChoice extends Choice {
  readonly type: Person['type'];
}

/** Returns the people and agents whose name or address has the words, except for excluded ones. */
export async function findPeople(
  client: Client,
  words: string,
  isOffered: (person: Person) => boolean,
): Promise<PersonChoice[]> {
  const { value } = await client.people({ ...(words !== '' && { q: words }), limit: MOST_FOUND }).next();
  return (value?.data ?? []).filter(isOffered).map(choiceOf);
}

function choiceOf({ id, type, name, handle, avatar_url, presence }: Person): PersonChoice {
  const shown = name ?? handle ?? texts.names.nameless;
  return {
    id,
    type,
    name: shown,
    detail: type === 'agent' ? texts.names.agent : handle,
    picture: <Avatar name={shown} url={avatar_url} size={24} presence={presence ?? undefined} />,
  };
}

const MOST_FOUND = 20;
