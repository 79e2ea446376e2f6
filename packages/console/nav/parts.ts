import type { IconNode } from 'lucide';
import { Bell, Inbox, ListChecks, Search, Server, Settings, UserCog } from 'lucide';
import type { SignedIn } from '../session/session-context.tsx';
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
  { to: { at: 'home' }, icon: Inbox, label: 'Inbox', isOffered: () => true },
  { to: { at: 'work' }, icon: ListChecks, label: 'Work', isOffered: () => true },
  { to: { at: 'notifications' }, icon: Bell, label: 'Notifications', isOffered: () => true },
  { to: { at: 'search', search: {} }, icon: Search, label: 'Search', isOffered: () => true },
  {
    to: { at: 'administration', section: '' },
    icon: Settings,
    label: 'Administration',
    isOffered: ({ can }) => can('users:read'),
  },
  {
    to: { at: 'installation' },
    icon: Server,
    label: 'Installation',
    isOffered: ({ me }) => me.operator === true,
  },
  { to: { at: 'settings' }, icon: UserCog, label: 'Your settings', isOffered: () => true },
];
