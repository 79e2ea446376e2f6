import { IconButton } from '@parley/ui/elements/button.tsx';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { X } from 'lucide';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { type Pane, showPane } from '../nav/place.ts';
import { RunPane } from '../runs/run-pane.tsx';
import { texts } from '../texts/texts.ts';
import { ThreadPane } from '../timeline/thread-pane.tsx';
import { Loaded } from './loaded.tsx';

export interface SidePaneProps {
  readonly conversationId: string;
  readonly pane: Pane;
  /** Whether the person has asked for it here; a pane that stays does not take the focus. */
  readonly isAsked: boolean;
}

/** The pane beside a conversation. Escape closes it, and the focus returns to its earlier place. */
export function SidePane({ conversationId, pane, isAsked }: SidePaneProps) {
  const before = useRef(document.activeElement);
  const aside = useRef<HTMLElement>(null);
  const shown = 'id' in pane ? pane.id : pane.shows;
  // Both run before the next key arrives, which is meant for the new place of the focus.
  useLayoutEffect(() => {
    if (!isAsked) return;
    // On a touch screen, a field with the focus would bring the keyboard up.
    const isTyped = pane.shows === 'thread' && !matchMedia('(pointer: coarse)').matches;
    const field = isTyped ? aside.current?.querySelector<HTMLElement>('.message-field') : null;
    (field ?? aside.current)?.focus();
  }, [shown, pane.shows, isAsked]);
  useLayoutEffect(
    () => () => {
      const { current: element } = before;
      const isHere = aside.current?.contains(document.activeElement) === true;
      if (isHere && element instanceof HTMLElement) element.focus();
    },
    [],
  );
  const title = texts.shell.panes[pane.shows];
  return (
    <aside
      ref={aside}
      class="side-pane"
      tabIndex={-1}
      aria-label={title}
      onKeyDown={(event) => {
        // The unsent text of a thread is kept.
        const isTyping =
          event.target instanceof HTMLElement &&
          event.target.matches('input, textarea:not(.message-field), select');
        if (pressedKey(event) === 'Escape' && !event.defaultPrevented && !isTyping) showPane(null);
      }}
    >
      <header class="side-pane-head">
        <h2>{title}</h2>
        <IconButton icon={X} label={texts.shell.closePane} onClick={() => showPane(null)} />
      </header>
      <PanePart key={'id' in pane ? pane.id : conversationId} conversationId={conversationId} pane={pane} />
    </aside>
  );
}

function PanePart({ conversationId, pane }: Omit<SidePaneProps, 'isAsked'>) {
  switch (pane.shows) {
    case 'details':
      return <Loaded load={details} of={{ conversationId }} />;
    case 'thread':
      return <ThreadPane conversationId={conversationId} messageId={pane.id} />;
    case 'run':
      return <RunPane conversationId={conversationId} id={pane.id} />;
  }
}

const details = async () => (await import('../details/details-pane.tsx')).DetailsPane;
