import type { IconNode } from 'lucide';
import { Bell, Inbox, ListChecks, Search, Server, Settings, UserCog } from 'lucide';
import type { SignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import type { Main } from './place.ts';

/** A part of the console to which the side bar and the palette lead. */
export interface Part {
  readonly to: Main;
  readonly icon: IconNode;
  readonly label: string;
  readonly isOffered: (signedIn: SignedIn) => boolean;
}

/** The parts of the console, in their order. */
export const PARTS: readonly Part[] = [
  { to: { at: 'home' }, icon: Inbox, label: texts.nav.inbox, isOffered: () => true },
  { to: { at: 'work' }, icon: ListChecks, label: texts.nav.work, isOffered: () => true },
  { to: { at: 'notifications' }, icon: Bell, label: texts.nav.notifications, isOffered: () => true },
  { to: { at: 'search', search: {} }, icon: Search, label: texts.nav.search, isOffered: () => true },
  {
    to: { at: 'administration', section: '' },
    icon: Settings,
    label: texts.nav.administration,
    isOffered: ({ can }) => can('users:read'),
  },
  {
    to: { at: 'installation' },
    icon: Server,
    label: texts.nav.installation,
    isOffered: ({ me }) => me.operator === true,
  },
  { to: { at: 'settings' }, icon: UserCog, label: texts.nav.settings, isOffered: () => true },
];
