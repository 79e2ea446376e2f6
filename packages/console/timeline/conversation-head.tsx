import { useConversation } from '@parley/client/react';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { Info, Pin, Users } from 'lucide';
import { nameOf } from '../names/conversation-name.ts';
import { showPane } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';

/** The head of a conversation: its facts, and the buttons of its panes. */
export function ConversationHead({ conversationId }: { readonly conversationId: string }) {
  const { me } = useSignedIn();
  const { conversation, pins, presence } = useConversation(conversationId);
  const { name, avatarUrl, otherId } = conversation === null ? NAMELESS : nameOf(conversation, me.actor.id);
  const members = conversation?.participants?.length ?? 0;
  const showDetails = () => showPane({ shows: 'details' });
  const lane = conversation?.workflow_status;
  return (
    <header class="conversation-head">
      {name !== '' && (
        <Avatar
          name={name}
          url={avatarUrl}
          size={32}
          {...(otherId !== null && { presence: presence.get(otherId) ?? 'offline' })}
        />
      )}
      <div class="conversation-title">
        <h1 title={name}>{name}</h1>
        {lane && <span class="message-tag">{LANES[lane]}</span>}
        {conversation?.legal_hold === 'held' && <span class="message-tag">Legal hold</span>}
      </div>
      {pins.length > 0 && (
        <Button look="plain" icon={Pin} aria-label={`${pins.length} pinned messages`} onClick={showDetails}>
          {pins.length}
        </Button>
      )}
      {conversation?.type === 'group' && (
        <Button
          look="plain"
          icon={Users}
          aria-label={members === 1 ? '1 member' : `${members} members`}
          onClick={showDetails}
        >
          {members}
        </Button>
      )}
      <IconButton icon={Info} label="Details" onClick={showDetails} />
    </header>
  );
}

const NAMELESS = { name: '', avatarUrl: null, otherId: null };

const LANES = {
  new: 'New',
  open: 'Open',
  waiting_internal: 'Waiting for the team',
  waiting_external: 'Waiting for the customer',
  needs_approval: 'Needs approval',
  resolved: 'Resolved',
} as const;
