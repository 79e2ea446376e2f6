import { hasWords } from '@parley/protocol/folding.ts';
import { SuggestionList, useSuggestions } from '@parley/ui/choices/suggestions.tsx';
import { useFound } from '@parley/ui/choices/use-found.ts';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { notifyFailure } from '@parley/ui/feedback/notify.ts';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { Search } from 'lucide';
import { useState } from 'preact/hooks';
import { findPeople } from '../names/people.tsx';
import { go, type Main } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { findConversations } from './find-conversations.tsx';
import { type PaletteItem, placesFor } from './palette-items.tsx';

export interface PaletteProps {
  /** Returns further places that have the words. */
  readonly findMore: (words: string) => Promise<readonly PaletteItem[]>;
  /** Returns what can be done with the open conversation. */
  readonly findActs: () => readonly PaletteItem[];
  readonly onClose: () => void;
}

/** Finds conversations, people and places of the console as one types. Ctrl-K opens it. */
export function Palette({ findMore, findActs, onClose }: PaletteProps) {
  const [words, setWords] = useState('');
  const [acts] = useState(findActs);
  const suggestions = useSuggestions({
    words,
    ...usePaletteItems(words.trim(), acts, findMore),
    onChoose: (item) => {
      onClose();
      Promise.resolve(item.act()).catch(notifyFailure);
    },
  });
  return (
    <Dialog title={texts.search.find} class="palette" onClose={onClose}>
      <div class="palette-field">
        <Icon of={Search} />
        <input
          {...suggestions.field}
          // The dialog gives the focus to this field.
          autofocus
          aria-label={texts.search.findLabel}
          placeholder={texts.search.findHint}
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
          onKeyDown={suggestions.press}
        />
      </div>
      <SuggestionList of={suggestions} label={texts.search.results} />
    </Dialog>
  );
}

/** Returns the hits for the words: places at once, the rest as the server answers. */
function usePaletteItems(words: string, acts: readonly PaletteItem[], findMore: PaletteProps['findMore']) {
  const signedIn = useSignedIn();
  const { client, me, can } = signedIn;
  const { result, isCurrent } = useFound(words, async (words) => {
    const conversations = await findConversations(client, words);
    const isOther = ({ id, type }: { readonly id: string; readonly type: string }) =>
      type === 'user' && id !== me.actor.id;
    const mayWrite = words !== '' && can('messaging:create');
    const people = mayWrite ? await findPeople(client, words, isOther) : [];
    const more = words === '' ? [] : await findMore(words).catch(() => []);
    return { words, conversations, people, more };
  });
  const conversations = (result?.conversations ?? []).map((one) => ({
    ...one,
    group: result?.words === '' ? texts.search.latest : texts.search.conversations,
    act: () => open({ at: 'conversation', id: one.id }),
  }));
  const people = (result?.people ?? []).map((person) => ({
    ...person,
    group: texts.search.people,
    act: async () => {
      const participants = [{ type: 'user', actor_id: person.id } as const];
      const { id } = await client.conversations.create({ type: 'direct_message', participants });
      open({ at: 'conversation', id });
    },
  }));
  const messages = {
    id: 'search',
    name: words === '' ? texts.search.title : texts.search.titleFor(words),
    picture: <Icon of={Search} />,
    group: texts.search.messages,
    act: () => open({ at: 'search', search: words === '' ? {} : { q: words } }),
  };
  const places = [...placesFor(signedIn, words), ...(result?.more ?? [])];
  const isNamed = ({ name }: PaletteItem) => hasWords(name, words);
  // Who is asked for by name comes before the cases that mention the name.
  const named = people.filter(isNamed);
  const others = people.filter((person) => !named.includes(person));
  const fitting = words === '' ? [] : acts.filter(isNamed);
  const items: PaletteItem[] = [
    ...fitting,
    ...named,
    ...conversations,
    ...others,
    ...places.filter(isNamed),
    ...places.filter((place) => !isNamed(place)),
    messages,
  ];
  return { items, isCurrent };
}

function open(main: Main): void {
  go({ main });
}
