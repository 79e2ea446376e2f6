import { useConversation } from '@parley/client/react';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { AlarmClock, Info, Pin, Users } from 'lucide';
import { ACTION_KEYS, type RowAction } from '../inbox/row-actions.ts';
import { snoozedText } from '../inbox/undoable.ts';
import { useActions } from '../inbox/use-actions.tsx';
import { nameOf } from '../names/conversation-name.ts';
import { useNamedPage } from '../nav/page-name.ts';
import { showPane } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { CaseControls } from './case-controls.tsx';

/** The head of a conversation: its facts, what is done with it, and the buttons of its panes. */
export function ConversationHead({ conversationId }: { readonly conversationId: string }) {
  const { me } = useSignedIn();
  const { conversation, pins, presence } = useConversation(conversationId);
  const { name, avatarUrl, otherId } = conversation === null ? NAMELESS : nameOf(conversation, me.actor.id);
  useNamedPage(name);
  const members = conversation?.participants?.length ?? 0;
  const showDetails = () => showPane({ shows: 'details' });
  const isCase = conversation?.audience === 'customer';
  const isShown = isCase && conversation.title !== null;
  return (
    <header class="conversation-head" data-case={isCase} data-focus="button">
      {name !== '' && (
        <Avatar
          name={name}
          url={avatarUrl}
          size={32}
          {...(otherId !== null && { presence: presence.get(otherId) ?? 'offline' })}
        />
      )}
      <div class="conversation-title">
        {name !== '' && <h1 title={isShown ? texts.timeline.customersSeeTitle(name) : name}>{name}</h1>}
        {conversation?.legal_hold === 'held' && <span class="message-tag">{texts.timeline.legalHold}</span>}
      </div>
      {conversation !== null && <Acts conversation={conversation} />}
      {pins.length > 0 && (
        <Button look="plain" icon={Pin} aria-label={texts.timeline.pinned(pins.length)} onClick={showDetails}>
          {pins.length}
        </Button>
      )}
      {conversation?.type === 'group' && (
        <Button look="plain" icon={Users} aria-label={texts.timeline.members(members)} onClick={showDetails}>
          {members}
        </Button>
      )}
      <IconButton icon={Info} label={texts.timeline.details} onClick={showDetails} />
    </header>
  );
}

/** The controls with which a conversation is worked: those of a case, snooze, and its end. */
function Acts({ conversation }: { readonly conversation: Conversation }) {
  const { actionsOn, overlays } = useActions();
  const actionOf = (name: RowAction['name'], anchor = document.body) =>
    actionsOn(conversation, anchor).find((one) => one.name === name);
  const isCase = conversation.audience === 'customer';
  const snooze = actionOf('snooze');
  const end = actionOf(isCase ? 'resolve' : 'archive');
  const { snoozed, snoozed_until: until = null } = conversation;
  const text = snoozedText(until === null ? null : new Date(until));
  return (
    <>
      <div class="conversation-state">
        {isCase && <CaseControls conversation={conversation} actionOf={actionOf} />}
        {snoozed && (
          <span class="message-tag conversation-snoozed" title={text}>
            <Icon of={AlarmClock} size={13} />
            <span class="one-line">{text}</span>
          </span>
        )}
      </div>
      {snooze?.icon && (
        <IconButton
          class="conversation-act"
          icon={snooze.icon}
          label={snooze.label}
          aria-keyshortcuts={ACTION_KEYS.snooze.toUpperCase()}
          onClick={({ currentTarget }) => actionOf('snooze', currentTarget)?.act()}
        />
      )}
      {end?.icon &&
        (isCase ? (
          <Button
            class="conversation-act"
            icon={end.icon}
            aria-keyshortcuts={ACTION_KEYS.resolve.toUpperCase()}
            onClick={end.act}
          >
            {end.label}
          </Button>
        ) : (
          <IconButton
            class="conversation-act"
            icon={end.icon}
            label={end.label}
            aria-keyshortcuts={ACTION_KEYS.archive.toUpperCase()}
            onClick={end.act}
          />
        ))}
      {overlays}
    </>
  );
}

const NAMELESS = { name: '', avatarUrl: null, otherId: null };
