import { Fragment } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Popover, type PopoverProps } from '../overlays/popover.tsx';
import { pressedKey } from '../typing/pressed-key.ts';
import { type Choice, ChoiceLine } from './choice-line.tsx';

export interface SuggestionsOptions<Item extends Choice> {
  /** The text of the field; null while nothing is suggested. */
  readonly words: string | null;
  readonly items: readonly Item[];
  /** Whether the items are for these words. Until then Enter waits, or takes the pointed item. */
  readonly isCurrent: boolean;
  readonly onChoose: (item: Item) => void;
  /** Called by an arrow key while nothing is suggested. */
  readonly onOpen?: () => void;
  /** Whether Tab takes a suggestion too. */
  readonly takesTab?: boolean;
}

/** The suggestions of a field, for its attributes and keys and for the list. */
export interface Suggestions<Item extends Choice> {
  readonly id: string;
  readonly items: readonly Item[];
  /** The item that Enter takes. */
  readonly current: Item | undefined;
  readonly choose: (item: Item) => void;
  /** Handles a key of the field. `preventDefault` says that it was taken. */
  readonly press: (event: KeyboardEvent) => void;
  /** The attributes of the field. */
  readonly field: {
    readonly role: 'combobox';
    readonly autocomplete: 'off';
    readonly 'aria-autocomplete': 'list';
    readonly 'aria-expanded': boolean;
    readonly 'aria-controls': string | undefined;
    readonly 'aria-activedescendant': string | undefined;
  };
}

/**
 * Follows which suggestion below a field is meant: the first one until the arrow keys lead to
 * another, which stays meant while more are found.
 */
export function useSuggestions<Item extends Choice>(options: SuggestionsOptions<Item>): Suggestions<Item> {
  const { words, items, isCurrent, onChoose, onOpen, takesTab = false } = options;
  const id = useId();
  const [ledTo, setLedTo] = useState<string>();
  const isWanted = useRef(false);
  const led = items.findIndex((item) => item.id === ledTo);
  const at = Math.max(led, 0);
  const isOpen = words !== null;
  const current = isOpen ? items[at] : undefined;
  const currentId = current && optionId(id, current);
  const take = () => {
    isWanted.current = !isCurrent && led < 0;
    if (!isWanted.current && current !== undefined) onChoose(current);
  };
  useLayoutEffect(() => {
    setLedTo(undefined);
    isWanted.current = false;
  }, [words]);
  useEffect(() => {
    if (isWanted.current) take();
  });
  useEffect(() => {
    if (currentId !== undefined) document.getElementById(currentId)?.scrollIntoView({ block: 'nearest' });
  }, [currentId]);
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const pressed = pressedKey(event);
    const step = { ArrowDown: 1, ArrowUp: -1 }[pressed];
    if (step !== undefined && isOpen) setLedTo(items.at((at + step) % items.length)?.id);
    else if (step !== undefined && onOpen !== undefined) onOpen();
    else if (isOpen && (pressed === 'Enter' || (takesTab && pressed === 'Tab'))) take();
    else return;
    event.preventDefault();
  };
  const field = {
    role: 'combobox',
    autocomplete: 'off',
    'aria-autocomplete': 'list',
    'aria-expanded': isOpen,
    'aria-controls': isOpen ? id : undefined,
    'aria-activedescendant': currentId,
  } as const;
  return { id, items, current, choose: onChoose, press, field };
}

function optionId(id: string, item: Choice): string {
  return `${id}-${item.id}`;
}

interface ListProps<Item extends Choice> {
  readonly of: Suggestions<Item>;
  readonly label: string;
}

/** The list of suggestions. The focus stays in the field. */
export function SuggestionList<Item extends Choice>({ of, label }: ListProps<Item>) {
  const { id, items, current, choose } = of;
  return (
    <div id={id} role="listbox" aria-label={label} class="suggestions">
      {items.map((item, index) => (
        <Fragment key={item.id}>
          {item.group !== undefined && item.group !== items[index - 1]?.group && (
            <p class="suggestions-group" aria-hidden="true">
              {item.group}
            </p>
          )}
          <button
            type="button"
            id={optionId(id, item)}
            role="option"
            tabIndex={-1}
            aria-selected={item === current}
            class="suggestion"
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(item)}
          >
            <ChoiceLine choice={item} />
          </button>
        </Fragment>
      ))}
    </div>
  );
}

type PopoverParts = Pick<PopoverProps, 'anchor' | 'onClose' | 'placement'>;

export interface SuggestionPopoverProps<Item extends Choice> extends ListProps<Item>, PopoverParts {
  /** The text below the list. */
  readonly state?: string;
}

/** The list of suggestions beside a field. */
export function SuggestionPopover<Item extends Choice>(props: SuggestionPopoverProps<Item>) {
  const { of, label, state = '', ...parts } = props;
  return (
    <Popover {...parts} label={label} role="group" takesFocus={false} class="suggestions-popover">
      <SuggestionList of={of} label={label} />
      <p class="suggestions-state" role="status">
        {state}
      </p>
    </Popover>
  );
}
