import type { Client } from '@parley/client';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import { notifyFailure } from '@parley/ui/feedback/notify.ts';
import type { MenuItem } from '@parley/ui/overlays/menu.tsx';
import { inLanguage } from '@parley/ui/text/language.ts';
import {
  AlarmClock,
  AlarmClockOff,
  Archive,
  ArchiveRestore,
  Bell,
  BellOff,
  CheckCheck,
  CircleCheck,
  Eye,
  EyeOff,
  Hourglass,
  Mail,
  RotateCcw,
  UserPlus,
  UserRoundCheck,
  UserRoundX,
} from 'lucide';
import { texts } from '../texts/texts.ts';
import { LANES } from './inbox-view.ts';
import { laterTimes } from './later.ts';
import { archive, moveCase, snoozeUntil } from './undoable.ts';

/** The context of the actions on a conversation. */
export interface ActionContext {
  readonly client: Client;
  readonly myId: string;
  /** Whether the person sees the whole account. */
  readonly isAdmin: boolean;
  readonly can: (permission: string) => boolean;
  /** Offers times; `act` gets null for "until it is ended". */
  readonly onTimes: (items: readonly MenuItem[], label: string) => void;
  readonly onAssign: (conversation: Conversation) => void;
}

/** The keys of actions on a conversation, by action. A case is resolved, anything else archived. */
export const ACTION_KEYS = {
  read: 'u',
  mute: 'm',
  snooze: 's',
  archive: 'e',
  resolve: 'e',
  assign: 'a',
} as const;

type ActionName = keyof typeof ACTION_KEYS | 'hide' | 'unassign' | 'take' | 'lane';

/** An action on a conversation, as an item of a menu. */
export interface RowAction extends MenuItem {
  readonly name: ActionName;
}

/** Returns the person's actions on a conversation in the list. */
export function rowActions(conversation: Conversation, context: ActionContext): RowAction[] {
  return [
    ...readActions(conversation, context),
    ...ownActions(conversation, context),
    ...caseActions(conversation, context),
    ...sharedActions(conversation, context),
  ];
}

/** Returns the caller's participant; undefined where it only sees the conversation. */
export function ownParticipant({ participants }: Conversation, myId: string): Participant | undefined {
  return participants?.find(
    ({ actor_id, membership }) => actor_id === myId && (membership === 'active' || membership === 'hidden'),
  );
}

export function isMuted(conversation: Conversation, myId: string): boolean {
  return ownParticipant(conversation, myId)?.notifications === 'muted';
}

function readActions(conversation: Conversation, { client, myId }: ActionContext): RowAction[] {
  const { id, unread, last_message: last } = conversation;
  const sequence = last?.sequence;
  if (!sequence || ownParticipant(conversation, myId) === undefined) return [];
  const { read } = ACTION_KEYS;
  if (unread > 0) {
    const act = () => run(client.conversations.markRead(id, sequence));
    return [{ name: 'read', label: texts.inbox.markRead, icon: CheckCheck, detail: read, act }];
  }
  // A person's own messages are never unread.
  if ((last.author_id ?? last.sender_id) === myId) return [];
  const act = () => run(client.conversations.markUnread(id, sequence));
  return [{ name: 'read', label: texts.inbox.markUnread, icon: Mail, detail: read, act }];
}

function ownActions(conversation: Conversation, context: ActionContext): RowAction[] {
  const { client, myId, onTimes } = context;
  const { id, snoozed, status } = conversation;
  const own = ownParticipant(conversation, myId);
  if (own === undefined) return [];
  const { conversations } = client;
  const { mute, snooze } = ACTION_KEYS;
  const setMuted = (until: Date | null) =>
    run(
      conversations.updateParticipant(id, own.id, {
        notifications: 'muted',
        muted_until: until === null ? null : until.toISOString(),
      }),
    );
  const unmute = () => run(conversations.updateParticipant(id, own.id, { notifications: 'unmuted' }));
  return [
    own.notifications === 'muted'
      ? { name: 'mute', label: texts.inbox.unmute, icon: Bell, detail: mute, act: unmute }
      : {
          name: 'mute',
          label: texts.inbox.muteFor,
          icon: BellOff,
          detail: mute,
          act: () => onTimes(timeItems(texts.inbox.untilUnmuted, setMuted), texts.inbox.mute),
        },
    snoozed
      ? {
          name: 'snooze',
          label: texts.inbox.endSnooze,
          icon: AlarmClockOff,
          detail: snooze,
          act: () => run(conversations.unsnooze(id)),
        }
      : {
          name: 'snooze',
          label: texts.inbox.snoozeFor,
          icon: AlarmClock,
          detail: snooze,
          act: () =>
            onTimes(
              timeItems(texts.inbox.untilNext, (until) => void snoozeUntil(client, conversation, until)),
              texts.inbox.snooze,
            ),
        },
    status === 'hidden'
      ? { name: 'hide', label: texts.inbox.showAgain, icon: Eye, act: () => run(conversations.unhide(id)) }
      : {
          name: 'hide',
          label: texts.inbox.hide,
          icon: EyeOff,
          act: () => run(conversations.hide(id)),
        },
  ];
}

/** The lanes that no other action leads to. */
const BY_HAND = ['waiting_internal', 'waiting_external'] as const;

function caseActions(conversation: Conversation, context: ActionContext): RowAction[] {
  const { id, audience, assignee_id: assignee = null, workflow_status: lane } = conversation;
  if (audience !== 'customer' || !mayChange(conversation, context)) return [];
  const { client, myId, onAssign } = context;
  const { conversations } = client;
  const assign = (to: string | null) => () => run(conversations.assign(id, to));
  const actions: RowAction[] = [
    ...(assignee === myId
      ? []
      : [{ name: 'take', label: texts.inbox.assignToMe, icon: UserRoundCheck, act: assign(myId) } as const]),
    {
      name: 'assign',
      label: texts.inbox.assign,
      icon: UserPlus,
      detail: ACTION_KEYS.assign,
      act: () => onAssign(conversation),
    },
    ...(assignee === null
      ? []
      : [{ name: 'unassign', label: texts.inbox.unassign, icon: UserRoundX, act: assign(null) } as const]),
    ...BY_HAND.filter((to) => to !== lane).map(
      (to): RowAction => ({
        name: 'lane',
        label: texts.inbox.moveTo(LANES[to]),
        icon: Hourglass,
        act: () => run(conversations.moveTo(id, to)),
      }),
    ),
    lane === 'resolved'
      ? {
          name: 'resolve',
          label: texts.inbox.reopen,
          icon: RotateCcw,
          detail: ACTION_KEYS.resolve,
          act: () => void moveCase(client, conversation, 'open'),
        }
      : {
          name: 'resolve',
          label: texts.inbox.resolve,
          icon: CircleCheck,
          detail: ACTION_KEYS.resolve,
          act: () => void moveCase(client, conversation, 'resolved'),
        },
  ];
  return actions.map((action, index) => ({ ...action, beginsGroup: index === 0 }));
}

function sharedActions(conversation: Conversation, context: ActionContext): RowAction[] {
  const { id, status, type, audience } = conversation;
  const role = ownParticipant(conversation, context.myId)?.role;
  const isManager = context.isAdmin || role === 'owner' || role === 'admin';
  if (type === 'system' || !mayChange(conversation, context)) return [];
  if (type !== 'direct_message' && !isManager) return [];
  const { conversations } = context.client;
  const isCase = audience === 'customer';
  const base = {
    name: 'archive',
    ...(!isCase && { detail: ACTION_KEYS.archive }),
    beginsGroup: true,
  } as const;
  return [
    status === 'archived'
      ? {
          ...base,
          label: texts.inbox.unarchive,
          icon: ArchiveRestore,
          act: () => run(conversations.unarchive(id)),
        }
      : {
          ...base,
          label: texts.inbox.archive,
          icon: Archive,
          act: () => void archive(context.client, conversation),
        },
  ];
}

export function mayChange(conversation: Conversation, { myId, isAdmin, can }: ActionContext): boolean {
  const role = ownParticipant(conversation, myId)?.role;
  return can('messaging:update') && (isAdmin || (role !== undefined && role !== 'viewer'));
}

function timeItems(open: string, act: (until: Date | null) => void): MenuItem[] {
  return [
    ...laterTimes(new Date()).map(({ label, at }) => ({
      label,
      detail: clock().format(at),
      act: () => act(at),
    })),
    { label: open, beginsGroup: true, act: () => act(null) },
  ];
}

const clock = inLanguage(
  (locale) => new Intl.DateTimeFormat(locale, { weekday: 'short', hour: 'numeric', minute: '2-digit' }),
);

function run(change: Promise<object>): void {
  change.catch(notifyFailure);
}
