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
import { texts } from '../texts/texts.ts';

interface Kind {
  readonly label: string;
  readonly icon: IconNode;
  /** Whether it waits for a decision, and goes away by itself. */
  readonly isWork?: boolean;
}

/** The kinds of notifications that Parley makes, by their category. */
export const KINDS: Readonly<Record<string, Kind>> = {
  'chat.mention': { label: texts.notifications.kinds['chat.mention'], icon: AtSign },
  'chat.message': { label: texts.notifications.kinds['chat.message'], icon: MessageSquare },
  'chat.added': { label: texts.notifications.kinds['chat.added'], icon: UserPlus },
  'approval.requested': {
    label: texts.notifications.kinds['approval.requested'],
    icon: BadgeCheck,
    isWork: true,
  },
  'draft.proposed': { label: texts.notifications.kinds['draft.proposed'], icon: FilePen, isWork: true },
  'conversation.assigned': {
    label: texts.notifications.kinds['conversation.assigned'],
    icon: UserCheck,
    isWork: true,
  },
  'agent.run_completed': { label: texts.notifications.kinds['agent.run_completed'], icon: Bot },
  'agent.alert': { label: texts.notifications.kinds['agent.alert'], icon: TriangleAlert },
  'email.failed': { label: texts.notifications.kinds['email.failed'], icon: MailWarning },
  'webhook.disabled': { label: texts.notifications.kinds['webhook.disabled'], icon: Webhook },
  'system.broadcast': { label: texts.notifications.kinds['system.broadcast'], icon: Megaphone },
};

/** Returns the kind of a category; applications have categories of their own. */
export function kindOf(category: string): Kind {
  return KINDS[category] ?? { label: category, icon: Bell };
}
