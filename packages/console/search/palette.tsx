import { ChoiceLine } from '@parley/ui/choices/choice-field.tsx';
import { useFound, useWhenReady } from '@parley/ui/choices/use-found.ts';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { notifyFailure } from '@parley/ui/feedback/notify.ts';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { Search } from 'lucide';
import { Fragment } from 'preact';
import { useCallback, useEffect, useId, useState } from 'preact/hooks';
import { findPeople } from '../names/people.tsx';
import { go, type Main } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { findConversations } from './find-conversations.tsx';
import { type PaletteGroup, type PaletteItem, placesFor } from './palette-items.tsx';

export interface PaletteProps {
  readonly onClose: () => void;
}

/** Finds conversations, people and places of the console as one types. Ctrl-K opens it. */
export function Palette({ onClose }: PaletteProps) {
  const id = useId();
  const [words, setWords] = useState('');
  const { groups, isCurrent } = usePaletteGroups(words.trim());
  const items = groups.flatMap((group) => group.items);
  const [at, setAt] = useState(0);
  const current = items[Math.min(at, items.length - 1)];
  const choose = (item: PaletteItem | undefined) => {
    if (item === undefined) return;
    onClose();
    Promise.resolve(item.act()).catch(notifyFailure);
  };
  const enter = useWhenReady(isCurrent || at > 0, () => choose(current));
  const press = (event: KeyboardEvent) => {
    const pressed = pressedKey(event);
    const step = { ArrowDown: 1, ArrowUp: -1 }[pressed];
    if (step !== undefined && items.length > 0) {
      event.preventDefault();
      setAt((Math.min(at, items.length - 1) + step + items.length) % items.length);
    } else if (pressed === 'Enter') {
      event.preventDefault();
      enter();
    }
  };
  const currentId = current && `${id}-${current.id}`;
  useEffect(() => {
    if (currentId !== undefined) document.getElementById(currentId)?.scrollIntoView({ block: 'nearest' });
  }, [currentId]);
  return (
    <Dialog title="Find" class="palette" onClose={onClose}>
      <div class="palette-field">
        <Icon of={Search} />
        <input
          // The dialog gives the focus to it.
          autofocus
          role="combobox"
          autocomplete="off"
          aria-label="Conversation, person or place"
          placeholder="Name or place"
          aria-autocomplete="list"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={currentId}
          value={words}
          onInput={(event) => {
            setWords(event.currentTarget.value);
            setAt(0);
            enter(false);
          }}
          onKeyDown={press}
        />
      </div>
      <div id={`${id}-list`} role="listbox" aria-label="Results" class="palette-list">
        {groups.map(({ label, items }) => (
          <Fragment key={label}>
            <p class="palette-group" aria-hidden="true">
              {label}
            </p>
            {items.map((item) => (
              <div
                key={item.id}
                id={`${id}-${item.id}`}
                role="option"
                tabIndex={-1}
                aria-selected={item === current}
                class="palette-item"
                onMouseDown={(event) => {
                  event.preventDefault();
                  choose(item);
                }}
              >
                <ChoiceLine choice={item} />
              </div>
            ))}
          </Fragment>
        ))}
      </div>
    </Dialog>
  );
}

/** Returns what fits the words: places at once, the others as the server answers. */
function usePaletteGroups(words: string) {
  const signedIn = useSignedIn();
  const { client, me, can } = signedIn;
  const myId = me.actor.id;
  const mayWrite = can('messaging:create');
  const find = useCallback(
    async (words: string) => {
      const conversations = await findConversations(client, words);
      const isOther = ({ id, type }: { readonly id: string; readonly type: string }) =>
        type === 'user' && id !== myId;
      const people = words === '' || !mayWrite ? [] : await findPeople(client, words, isOther);
      return { words, conversations, people };
    },
    [client, myId, mayWrite],
  );
  const { result, isCurrent } = useFound(words, find);
  const conversations: PaletteGroup = {
    label: result?.words === '' ? 'Latest' : 'Conversations',
    items: (result?.conversations ?? []).map((one) => ({
      ...one,
      act: () => open({ at: 'conversation', id: one.id }),
    })),
  };
  const people: PaletteGroup = {
    label: 'People',
    items: (result?.people ?? []).map((person) => ({
      ...person,
      act: async () => {
        const participants = [{ type: 'user', actor_id: person.id } as const];
        const { id } = await client.conversations.create({ type: 'direct_message', participants });
        open({ at: 'conversation', id });
      },
    })),
  };
  const messages: PaletteGroup = {
    label: 'Messages',
    items: [
      {
        id: 'search',
        name: words === '' ? 'Search messages' : `Search messages for “${words}”`,
        picture: <Icon of={Search} />,
        act: () => open({ at: 'search', search: words === '' ? {} : { q: words } }),
      },
    ],
  };
  const places: PaletteGroup = { label: 'Places', items: placesFor(signedIn, words) };
  const groups = [conversations, people, messages, places].filter(({ items }) => items.length > 0);
  return { groups, isCurrent };
}

function open(main: Main): void {
  go({ main });
}
