import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { IconButton } from '@parley/ui/elements/button.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { Keyboard, Search, SquarePen } from 'lucide';
import type { ComponentType } from 'preact';
import { Inbox } from '../inbox/inbox.tsx';
import { Link } from '../nav/link.tsx';
import { PARTS, type Part } from '../nav/parts.ts';
import { type Main, usePlace } from '../nav/place.ts';
import { Bell } from '../notifications/bell.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { WorkCount } from '../work/work-count.tsx';

export interface SideBarProps {
  readonly onFind: () => void;
  readonly onNew: () => void;
  readonly onHelp: () => void;
}

/** The side bar: the person, the parts of the console, and the list of conversations. */
export function SideBar({ onFind, onNew, onHelp }: SideBarProps) {
  const signedIn = useSignedIn();
  const { me, can } = signedIn;
  return (
    <div class="side-bar" id="side-bar">
      <header class="side-bar-head">
        <Link to={{ main: { at: 'settings' } }} class="side-bar-person" title={texts.shell.settings}>
          <Avatar name={me.actor.name ?? ''} url={me.actor.avatar_url} size={28} presence="online" />
          <span class="one-line">{me.actor.name}</span>
        </Link>
        <Bell />
        <IconButton icon={Keyboard} label={texts.shell.keyboard} onClick={onHelp} />
        {can('messaging:create') && (
          <IconButton icon={SquarePen} label={texts.shell.newConversation} onClick={onNew} />
        )}
      </header>
      <button type="button" class="side-bar-find" aria-keyshortcuts="Control+K" onClick={onFind}>
        <Icon of={Search} size={15} />
        {texts.shell.find}
        <kbd>{texts.shell.keyNames.Ctrl} K</kbd>
      </button>
      <nav class="side-bar-parts" aria-label={texts.shell.console}>
        {PARTS.filter(({ to, isOffered }) => !ELSEWHERE.has(to.at) && isOffered(signedIn)).map((part) => (
          <PartLink key={part.label} part={part} />
        ))}
      </nav>
      <Inbox />
    </div>
  );
}

/** Parts that have a place above the list of parts. */
const ELSEWHERE: ReadonlySet<Main['at']> = new Set(['settings', 'search', 'notifications']);

/** Components at the end of a link to a part, such as a number of new things. */
const BADGES: Readonly<Partial<Record<Main['at'], ComponentType>>> = { work: WorkCount };

function PartLink({ part: { to, icon, label } }: { readonly part: Part }) {
  const { main } = usePlace();
  const Badge = BADGES[to.at];
  const isCurrent = main.at === to.at || (to.at === 'home' && main.at === 'conversation');
  return (
    <Link to={{ main: to }} class="side-bar-part" title={label} aria-current={isCurrent ? 'page' : undefined}>
      <Icon of={icon} />
      <span class="hidden-visually">{label}</span>
      {Badge && <Badge />}
    </Link>
  );
}
