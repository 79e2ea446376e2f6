import type { SentMessage } from '@parley/client';
import { usualEmoji } from '@parley/ui/choices/picked-emoji.ts';
import { IconButton } from '@parley/ui/elements/button.tsx';
import { notify, notifyFailure } from '@parley/ui/feedback/notify.ts';
import { MenuButton } from '@parley/ui/overlays/menu.tsx';
import type { IconNode } from 'lucide';
import {
  Ellipsis,
  Forward,
  Link as LinkIcon,
  MailOpen,
  MessageSquareReply,
  Pencil,
  Pin,
  PinOff,
  SmilePlus,
  Trash2,
} from 'lucide';
import { pathOf, showPane } from '../nav/place.ts';
import { texts } from '../texts/texts.ts';
import type { MessageContext } from './message-context.tsx';
import { messageRights } from './message-rights.ts';

/** The parts of a row that may be open beside the message itself. */
export type RowMode = 'reacting' | 'editing' | 'forwarding' | 'deleting';

/** The key of reacting. */
const REACT = '+';

/** A person's action on a message. */
export interface MessageAction {
  readonly label: string;
  readonly icon: IconNode;
  /** The key that does it while the row has the focus. */
  readonly key: string;
  /** Whether it is in the row of buttons; other actions are in the menu. */
  readonly isInBar: boolean;
  readonly isDanger?: boolean;
  readonly act: () => void;
}

export interface ActionsInput {
  readonly message: SentMessage;
  readonly context: MessageContext;
  readonly isInThread: boolean;
  readonly onMode: (mode: RowMode) => void;
}

/** Returns a person's actions on a message. */
export function actionsOf({ message, context, isInThread, onMode }: ActionsInput): MessageAction[] {
  const { live, conversationId, pinnedIds, rights } = context;
  const may = messageRights(message, rights);
  const { id } = message;
  const isPinned = pinnedIds.has(id);
  const all: [boolean, MessageAction][] = [
    [may.react, { ...act(texts.message.react, SmilePlus, REACT, () => onMode('reacting')), isInBar: true }],
    [
      may.reply && !isInThread,
      {
        ...act(texts.message.reply, MessageSquareReply, 't', () =>
          showPane({ shows: 'thread', id: message.reply_to_id ?? id }),
        ),
        isInBar: true,
      },
    ],
    [may.edit, { ...act(texts.message.edit, Pencil, 'w', () => onMode('editing')), isInBar: true }],
    [
      may.pin,
      act(isPinned ? texts.message.unpin : texts.message.pin, isPinned ? PinOff : Pin, 'p', () =>
        (isPinned ? live?.unpin(id) : live?.pin(id))?.catch(notifyFailure),
      ),
    ],
    [may.forward, act(texts.message.forwardMore, Forward, 'f', () => onMode('forwarding'))],
    [true, act(texts.message.copyLink, LinkIcon, 'c', () => copyLink(conversationId, id))],
    [
      may.markUnread && !isInThread,
      act(texts.message.markUnread, MailOpen, 'u', () =>
        live?.markUnread(message.sequence!).then(() => notify(texts.message.markedUnread), notifyFailure),
      ),
    ],
    [
      may.delete,
      { ...act(texts.message.deleteMore, Trash2, 'Delete', () => onMode('deleting')), isDanger: true },
    ],
  ];
  return all.flatMap(([isPermitted, action]) => (isPermitted ? [action] : []));
}

function act(label: string, icon: IconNode, key: string, does: () => unknown): MessageAction {
  return { label, icon, key, isInBar: false, act: () => void does() };
}

async function copyLink(conversationId: string, message: string): Promise<void> {
  const path = pathOf({ main: { at: 'conversation', id: conversationId, message } });
  try {
    await navigator.clipboard.writeText(new URL(path, location.href).href);
    notify(texts.message.copied);
  } catch {
    notifyFailure(new Error(texts.message.notCopied));
  }
}

export interface MessageActionsProps {
  readonly actions: readonly MessageAction[];
  readonly onMenu: (isOpen: boolean) => void;
  readonly onReact: (emoji: string) => void;
}

/** The floating buttons of a row: some actions, and a menu of the rest. */
export function MessageActions({ actions, onMenu, onReact }: MessageActionsProps) {
  const inMenu = actions.filter(({ isInBar }) => !isInBar);
  return (
    <div class="message-actions" role="toolbar" aria-label={texts.message.actions}>
      {actions.some(({ key }) => key === REACT) &&
        usualEmoji().map((emoji) => (
          <button
            key={emoji}
            type="button"
            class="icon-button message-actions-emoji"
            aria-label={texts.message.reactWith(emoji)}
            title={texts.message.reactWith(emoji)}
            onClick={() => onReact(emoji)}
          >
            {emoji}
          </button>
        ))}
      {actions
        .filter(({ isInBar }) => isInBar)
        .map(({ label, icon, key, act }) => (
          <IconButton key={key} icon={icon} label={label} aria-keyshortcuts={key} onClick={act} />
        ))}
      <MenuButton
        icon={Ellipsis}
        label={texts.message.moreActions}
        class="message-actions-more"
        onOpen={onMenu}
        items={inMenu.map(({ label, icon, key, isDanger = false, act }) => ({
          label,
          icon,
          isDanger,
          act,
          detail: key === 'Delete' ? texts.message.deleteKey : key.toUpperCase(),
        }))}
      />
    </div>
  );
}
