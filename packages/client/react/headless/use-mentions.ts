import type { Participant } from '@parley/protocol/resources/participant.ts';
import { useId, useMemo, useState } from 'react';
import { askedAt, meant } from '../../writing/mention-words.ts';
import { useClient } from '../provider.ts';
import { useEvent } from './use-event.ts';

/** A member of a conversation that a message may mention. */
export interface Mentionable {
  /** The id of the actor. */
  readonly id: string;
  /** The name that stands behind the `@`. */
  readonly name: string;
  /** The e-mail address where the caller may see it; else ''. */
  readonly detail: string;
  /** The picture; null for none. */
  readonly avatarUrl: string | null;
}

/** A text that is being written. */
export interface Draft {
  readonly text: string;
  readonly caret: number;
  /** The people that were chosen for it. */
  readonly mentions: readonly Mentionable[];
}

interface MentionsInput {
  readonly draft: Draft;
  readonly participants: readonly Participant[] | null;
}

interface Mentions {
  readonly suggestions: readonly Mentionable[];
  readonly isOpen: boolean;
  readonly active: number;
  readonly listId: string;
  readonly optionId: (index: number) => string;
  readonly choose: (actor: Mentionable) => void;
  readonly close: () => void;
  /** Handles a key. Returns whether it belonged to the list. */
  readonly press: (key: string) => boolean;
  /** Returns the ids of the chosen people whose names are still in a text. */
  readonly idsIn: (text: string) => string[];
}

/** Follows which members the word at the caret means. `onChosen` gets the completed draft. */
export function useMentions(
  { draft, participants }: MentionsInput,
  onChosen: (draft: Draft) => void,
): Mentions {
  const ownId = useClient()?.actor?.id;
  const listId = useId();
  const members = useMemo(() => membersOf(participants ?? [], ownId), [participants, ownId]);
  const asked = askedAt(draft.text, draft.caret);
  const place = asked === null ? '' : `${asked.from} ${asked.words}`;
  // Closed for these words, and open again with the next letter.
  const [closedAt, setClosedAt] = useState('');
  const [chosen, setChosen] = useState({ place: '', index: 0 });
  const suggestions = asked === null || closedAt === place ? [] : meant(asked.words, members);
  const isOpen = suggestions.length > 0;
  const active = chosen.place === place ? chosen.index : 0;
  const choose = useEvent((actor: Mentionable) => {
    if (asked === null) return;
    const before = `${draft.text.slice(0, asked.from)}@${actor.name} `;
    const text = before + draft.text.slice(draft.caret).replace(/^ /, '');
    onChosen({ text, caret: before.length, mentions: [...draft.mentions, actor] });
  });
  const close = useEvent(() => setClosedAt(place));
  const press = (key: string) => {
    if (!isOpen) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step !== undefined) {
      setChosen({ place, index: (active + step + suggestions.length) % suggestions.length });
    } else if (key === 'Enter' || key === 'Tab') choose(suggestions[active]!);
    else if (key === 'Escape') close();
    else return false;
    return true;
  };
  return {
    suggestions,
    isOpen,
    active,
    listId,
    optionId: (index) => `${listId}-${index}`,
    choose,
    close,
    press,
    idsIn: (text) => [
      ...new Set(draft.mentions.filter(({ name }) => text.includes(`@${name}`)).map(({ id }) => id)),
    ],
  };
}

function membersOf(participants: readonly Participant[], ownId: string | undefined): Mentionable[] {
  return participants.flatMap(({ type, actor }) =>
    (type === 'user' || type === 'agent') && actor?.name != null && actor.id !== ownId
      ? [{ id: actor.id, name: actor.name, detail: actor.handle ?? '', avatarUrl: actor.avatar_url ?? null }]
      : [],
  );
}
