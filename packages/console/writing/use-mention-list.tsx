import { useClient, useConversation } from '@parley/client/react';
import { type Asked, askedAt, meant } from '@parley/client/writing/mention-words.ts';
import type { Choice } from '@parley/ui/choices/choice-line.tsx';
import { type Suggestions, useSuggestions } from '@parley/ui/choices/suggestions.tsx';
import { useFound } from '@parley/ui/choices/use-found.ts';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { useMemo, useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { type Candidate, membersOf, othersOf } from './mentions.ts';

/** The list of people that an `@` opens. */
export interface MentionList {
  readonly suggestions: Suggestions<Candidate & Choice>;
  readonly isOpen: boolean;
  /** Shows the candidates for the words at the caret. */
  readonly look: (text: string, caret: number) => void;
  readonly close: () => void;
}

/**
 * Follows the people of a conversation, its agents, and then those of the account. `onChoose` gets
 * the choice and the name that was being written, which it replaces.
 */
export function useMentionList(
  conversationId: string,
  onChoose: (candidate: Candidate, asked: Asked) => void,
): MentionList {
  const client = useClient();
  const { me } = useSignedIn();
  const { conversation } = useConversation(conversationId);
  const [asked, setAsked] = useState<Asked | null>(null);
  const participants = conversation?.participants;
  const members = useMemo(() => membersOf(participants ?? [], me.actor.id), [participants, me]);
  const words = asked?.words ?? null;
  const { result: people } = useFound(words, async (q) => {
    if (client === null || q === '') return [];
    const { value } = await client.people({ q, limit: 8 }).next();
    return value?.data ?? [];
  });
  const items = useMemo(() => {
    if (words === null) return [];
    return meant(words, [...members, ...othersOf(people ?? [], members, me.actor.id)]).map((candidate) => ({
      ...candidate,
      detail: candidate.isMember ? candidate.detail : texts.writing.stranger,
      picture: <Avatar name={candidate.name} url={candidate.avatarUrl} size={24} />,
    }));
  }, [words, members, people, me]);
  const isOpen = items.length > 0;
  const suggestions = useSuggestions<Candidate & Choice>({
    items,
    words: isOpen ? words : null,
    takesTab: true,
    // The members are there at once, and the others follow.
    isCurrent: true,
    onChoose: (candidate) => {
      onChoose(candidate, asked!);
      setAsked(null);
    },
  });
  const look = (text: string, caret: number) => setAsked(askedAt(text, caret));
  return { suggestions, isOpen, look, close: () => setAsked(null) };
}
