import { useClient, useConversation } from '@parley/client/react';
import type { Person } from '@parley/protocol/resources/person.ts';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import { type Asked, askedAt, type Candidate, meant, membersOf, othersOf } from './mentions.ts';

/** The list of people that an `@` opens. */
export interface MentionList {
  readonly id: string;
  /** Empty while it is closed. */
  readonly found: readonly Candidate[];
  readonly active: number;
  /** Shows what is meant at the caret. */
  readonly look: (text: string, caret: number) => void;
  readonly close: () => void;
  /** Handles a key of the field. `choose` is called with what Enter or Tab takes. */
  readonly key: (event: KeyboardEvent, choose: (candidate: Candidate) => void) => void;
  /** The name that is being written, which a choice replaces. */
  readonly asked: Asked | null;
}

/** Follows the people of a conversation, its agents, and then those of the account. */
export function useMentionList(conversationId: string): MentionList {
  const { me } = useSignedIn();
  const { conversation } = useConversation(conversationId);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [active, setActive] = useState(0);
  const participants = conversation?.participants;
  const members = useMemo(() => membersOf(participants ?? [], me.actor.id), [participants, me]);
  const words = asked?.words ?? null;
  const people = usePeople(words);
  const found = useMemo(() => {
    if (words === null) return [];
    return meant(words, [...members, ...othersOf(people, members, me.actor.id)]);
  }, [words, members, people, me]);
  const close = () => setAsked(null);
  const look = (text: string, caret: number) => {
    setAsked(askedAt(text, caret));
    setActive(0);
  };
  const key: MentionList['key'] = (event, choose) => {
    if (found.length === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const pressed = pressedKey(event);
    const step = { ArrowDown: 1, ArrowUp: -1 }[pressed];
    if (step !== undefined) setActive((active + step + found.length) % found.length);
    else if (pressed === 'Enter' || pressed === 'Tab') choose(found[active]!);
    else return;
    event.preventDefault();
  };
  return { id: useId(), found, active, look, close, key, asked };
}

/** Returns people of the account whose names or addresses words begin, once they have been read. */
function usePeople(words: string | null): readonly Person[] {
  const client = useClient();
  const [people, setPeople] = useState<readonly Person[]>([]);
  useEffect(() => {
    if (client === null || words === null || words === '') {
      setPeople([]);
      return;
    }
    let isOver = false;
    const read = async () => {
      const { value } = await client.people({ q: words, limit: 8 }).next();
      if (!isOver) setPeople(value?.data ?? []);
    };
    const timer = setTimeout(() => void read().catch(() => {}), PAUSE_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [client, words]);
  return people;
}

const PAUSE_MS = 150;
