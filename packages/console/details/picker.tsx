import { useFound } from '@parley/ui/choices/use-found.ts';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';

export interface Pickable {
  readonly id: string;
  readonly name: string | null;
  readonly detail?: string | null;
  /** The address of a picture. Absent where the thing has none. */
  readonly avatar_url?: string | null;
}

export interface PickerProps<T extends Pickable> {
  readonly title: string;
  readonly placeholder: string;
  /** The text of the button beside each hit. */
  readonly action: string;
  /** Finds the things that fit the words; all if there are none. */
  readonly search: (words: string) => Promise<readonly T[]>;
  readonly onPick: (one: T) => Promise<unknown>;
  readonly onClose: () => void;
  /** The other choices. */
  readonly children?: ComponentChildren;
}

/** A dialog to search for one thing and take it. */
export function Picker<T extends Pickable>(props: PickerProps<T>) {
  const { title, placeholder, action, search, onPick, onClose, children } = props;
  const [words, setWords] = useState('');
  const found = useFound(words, search);
  const { isBusy, problem, run } = useAction();
  return (
    <Dialog title={title} onClose={onClose}>
      <input
        type="search"
        aria-label={placeholder}
        placeholder={placeholder}
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <ul class="picker-hits" aria-label={texts.details.hits}>
        {found.result?.map((hit) => (
          <li key={hit.id}>
            {hit.avatar_url !== undefined && <Avatar name={hit.name ?? ''} url={hit.avatar_url} size={28} />}
            <span class="picker-name">
              {hit.name ?? hit.id}
              {hit.detail && <small>{hit.detail}</small>}
            </span>
            <Button
              aria-label={`${action} ${hit.name ?? hit.id}`}
              disabled={isBusy}
              onClick={async () => {
                if (await run(() => onPick(hit))) onClose();
              }}
            >
              {action}
            </Button>
          </li>
        ))}
      </ul>
      {found.result?.length === 0 && <p class="picker-none">{texts.details.nothingFound}</p>}
      <Problem text={problem || found.problem} />
      {children}
    </Dialog>
  );
}
