import type { IconNode } from 'lucide';
import {
  AtSign,
  BadgeCheck,
  Bell,
  Bot,
  FilePen,
  MailWarning,
  Megaphone,
  MessageSquare,
  TriangleAlert,
  UserCheck,
  UserPlus,
  Webhook,
} from 'lucide';

interface Kind {
  readonly label: string;
  readonly icon: IconNode;
  /** Whether it waits for a decision, and goes away by itself. */
  readonly isWork?: boolean;
}

/** The kinds of notifications that Parley makes, by their category. */
export const KINDS: Readonly<Record<string, Kind>> = {
  'chat.mention': { label: 'Mentions', icon: AtSign },
  'chat.message': { label: 'Messages', icon: MessageSquare },
  'chat.added': { label: 'Added to a conversation', icon: UserPlus },
  'approval.requested': { label: 'Approvals', icon: BadgeCheck, isWork: true },
  'draft.proposed': { label: 'Proposed replies', icon: FilePen, isWork: true },
  'conversation.assigned': { label: 'Assignments', icon: UserCheck, isWork: true },
  'agent.run_completed': { label: 'Finished runs', icon: Bot },
  'agent.alert': { label: 'Alerts of agents', icon: TriangleAlert },
  'email.failed': { label: 'Mail that failed', icon: MailWarning },
  'webhook.disabled': { label: 'Webhooks turned off', icon: Webhook },
  'system.broadcast': { label: 'Announcements', icon: Megaphone },
};

/** Returns the kind of a category; applications have categories of their own. */
export function kindOf(category: string): Kind {
  return KINDS[category] ?? { label: category, icon: Bell };
}
