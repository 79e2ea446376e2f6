import type { PresenceStatus } from '@parley/protocol/resources/activity.ts';
import type { Conversation, WorkflowStatus } from '@parley/protocol/resources/conversation.ts';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { IconButton } from '@parley/ui/elements/button.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { fullTimeOf, shortTimeOf } from '@parley/ui/text/time.ts';
import { AlarmClock, AtSign, BellOff, Ellipsis, Headset } from 'lucide';
import { memo } from 'preact/compat';
import { nameOf } from '../names/conversation-name.ts';
import { useActor } from '../names/use-actor.ts';
import { Link } from '../nav/link.tsx';
import { texts } from '../texts/texts.ts';
import { whenText } from '../writing/send-times.ts';
import { LANES } from './inbox-view.ts';
import { lastMessageOf } from './last-message.ts';
import { isMuted } from './row-actions.ts';
import { snoozedText } from './undoable.ts';
import { Waits } from './waits.tsx';

export interface InboxRowProps {
  readonly conversation: Conversation;
  readonly myId: string;
  /** Whether the main part shows it. */
  readonly isOpen: boolean;
  /** Whether a mention of the person is unread there. */
  readonly isMentioned: boolean;
  readonly presence: PresenceStatus | undefined;
  /** Whether the Tab key leads to it: to one row of the list. */
  readonly isTabStop: boolean;
  readonly isSelected: boolean;
  readonly onSelect: (id: string, isRange: boolean) => void;
  readonly onMenu: (conversation: Conversation, anchor: HTMLElement) => void;
}

/** A conversation in the list. Only its own changes draw it again. */
export const InboxRow = memo(function InboxRow(props: InboxRowProps) {
  const { conversation, myId, isOpen, isMentioned, presence, isTabStop, isSelected, onSelect, onMenu } =
    props;
  const {
    id,
    audience,
    unread,
    snoozed,
    workflow_status: lane,
    waiting_since: waiting = null,
  } = conversation;
  const until = conversation.snoozed_until ? new Date(conversation.snoozed_until) : null;
  const at = conversation.activity_at ?? conversation.created_at;
  const { name, avatarUrl } = nameOf(conversation, myId);
  const muted = isMuted(conversation, myId);
  const openMenu = (anchor: HTMLElement) => onMenu(conversation, anchor);
  return (
    <li
      class="inbox-row"
      data-id={id}
      data-open={isOpen}
      data-unread={unread > 0}
      data-selected={isSelected}
      onContextMenu={(event) => {
        event.preventDefault();
        openMenu(event.currentTarget);
      }}
    >
      <Link
        to={{ main: { at: 'conversation', id } }}
        class="inbox-row-link"
        tabIndex={isTabStop ? 0 : -1}
        aria-current={isOpen ? 'page' : undefined}
      >
        <Avatar name={name} url={avatarUrl} size={36} presence={presence} />
        <span class="inbox-row-name">
          {audience === 'customer' && <Mark icon={Headset} label={texts.inbox.customerCase} />}
          <span class="inbox-row-title" title={name}>
            {name}
          </span>
          {muted && <Mark icon={BellOff} label={texts.inbox.muted} />}
          {snoozed && <Mark icon={AlarmClock} label={snoozedText(until)} />}
        </span>
        <time class="inbox-row-time" dateTime={at} title={fullTimeOf(at)}>
          {shortTimeOf(at)}
        </time>
        <span class="inbox-row-line">
          <LastLine conversation={conversation} myId={myId} />
          {isMentioned && (
            <span class="inbox-row-mention">
              <Mark icon={AtSign} label={texts.inbox.mentioned} />
            </span>
          )}
          {unread > 0 && (
            <span class="inbox-row-count">
              <span aria-hidden="true">{unread > MOST_SHOWN ? `${MOST_SHOWN}+` : unread}</span>
              <span class="hidden-visually">{texts.inbox.unread(unread)}</span>
            </span>
          )}
          {snoozed && until !== null && (
            <span class="inbox-row-until">{texts.inbox.until(whenText(until))}</span>
          )}
          {waiting !== null && <Waits since={waiting} />}
          {lane !== null && waiting === null && unread === 0 && !snoozed && (
            <span class="inbox-row-lane" data-lane={lane} title={LANES[lane]}>
              {SHORT_LANES[lane] ?? LANES[lane]}
            </span>
          )}
        </span>
      </Link>
      <input
        type="checkbox"
        class="inbox-row-select"
        aria-label={texts.inbox.select(name)}
        aria-keyshortcuts="x"
        tabIndex={-1}
        checked={isSelected}
        onClick={(event) => onSelect(id, event.shiftKey)}
      />
      <IconButton
        icon={Ellipsis}
        label={texts.inbox.actionsOn(name)}
        class="inbox-row-menu"
        aria-haspopup="menu"
        tabIndex={isTabStop ? 0 : -1}
        onClick={(event) => openMenu(event.currentTarget)}
      />
    </li>
  );
});

interface LastLineProps {
  readonly conversation: Conversation;
  readonly myId: string;
}

function LastLine({ conversation, myId }: LastLineProps) {
  const last = lastMessageOf(conversation, myId);
  const sender = useActor(last?.senderId ?? null);
  if (last === null) return <span class="inbox-row-last">{texts.inbox.noMessages}</span>;
  const { senderId, text, isNote } = last;
  const name = senderId === myId ? texts.inbox.you : sender?.name;
  return (
    <span class="inbox-row-last">
      {isNote && <span class="inbox-row-note">{texts.inbox.note}</span>}
      {name && `${name}: `}
      {text}
    </span>
  );
}

function Mark({ icon, label }: { readonly icon: typeof AtSign; readonly label: string }) {
  return (
    <span class="inbox-row-mark" title={label}>
      <Icon of={icon} size={13} />
      <span class="hidden-visually">{label}</span>
    </span>
  );
}

const MOST_SHOWN = 99;

/** Lanes whose names leave no place for the message. */
const SHORT_LANES: Readonly<Partial<Record<WorkflowStatus, string>>> = texts.inbox.shortLanes;
