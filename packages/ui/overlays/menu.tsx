import type { IconNode } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Button, IconButton } from '../elements/button.tsx';
import { Icon } from '../elements/icon.tsx';
import { pressedKey } from '../typing/pressed-key.ts';
import { Popover } from './popover.tsx';

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconNode;
  /** Stands at the end of the line: a number, a time, a key. */
  readonly detail?: string | undefined;
  /** Stated for a group of items with one choice. */
  readonly isChosen?: boolean;
  /** Whether it cannot be undone. */
  readonly isDanger?: boolean;
  /** Whether a line stands above it. */
  readonly beginsGroup?: boolean;
  readonly act: () => void;
}

export interface MenuProps {
  readonly anchor: HTMLElement;
  readonly label: string;
  readonly items: readonly MenuItem[];
  readonly onClose: () => void;
}

/** A list of actions beside an element. The arrow keys move through it. */
export function Menu({ anchor, label, items, onClose }: MenuProps) {
  return (
    <Popover anchor={anchor} role="menu" label={label} onClose={onClose} onKeyDown={moveFocus}>
      <MenuItems items={items} onDone={onClose} />
    </Popover>
  );
}

export interface MenuButtonProps {
  readonly icon: IconNode;
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** Called when it opens and closes. */
  readonly onOpen?: (isOpen: boolean) => void;
  /** The content of the button beside its drawing; the drawing alone by default. */
  readonly children?: ComponentChildren;
  readonly class?: string;
}

/** A button that opens a list of actions. */
export function MenuButton({ icon, label, items, onOpen, children, class: more }: MenuButtonProps) {
  const button = useRef<HTMLSpanElement>(null);
  const [isOpen, setOpen] = useState(false);
  const show = (shown: boolean) => {
    setOpen(shown);
    onOpen?.(shown);
  };
  const state = {
    class: more ?? '',
    'aria-haspopup': 'menu',
    'aria-expanded': isOpen,
    onClick: () => show(!isOpen),
  } as const;
  return (
    <span ref={button} class="menu-button">
      {children === undefined ? (
        <IconButton icon={icon} label={label} {...state} />
      ) : (
        <Button look="plain" icon={icon} aria-label={label} {...state}>
          {children}
        </Button>
      )}
      {isOpen && <Menu anchor={button.current!} label={label} items={items} onClose={() => show(false)} />}
    </span>
  );
}

/** Moves the focus through the buttons of a list by the arrow keys. */
function moveFocus(event: KeyboardEvent): void {
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll('button')];
  const at = all.indexOf(document.activeElement as HTMLButtonElement);
  const next = { ArrowDown: (at + 1) % all.length, ArrowUp: at - 1, Home: 0, End: -1 }[pressedKey(event)];
  if (next === undefined) return;
  event.preventDefault();
  all.at(next)?.focus();
}

function MenuItems({ items, onDone }: { readonly items: readonly MenuItem[]; readonly onDone: () => void }) {
  return items.map(({ label, icon, detail, isChosen, isDanger = false, beginsGroup = false, act }) => {
    const kind =
      isChosen === undefined
        ? ({ role: 'menuitem' } as const)
        : ({ role: 'menuitemradio', 'aria-checked': isChosen } as const);
    return (
      <button
        key={label}
        type="button"
        {...kind}
        class={['menu-item', isDanger && 'menu-item-danger', beginsGroup && 'menu-item-first']
          .filter(Boolean)
          .join(' ')}
        onClick={() => {
          onDone();
          act();
        }}
      >
        {icon && <Icon of={icon} size={16} />}
        {label}
        {detail !== undefined && <span class="menu-item-detail">{detail}</span>}
      </button>
    );
  });
}
