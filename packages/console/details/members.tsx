import { useConversation, usePresence } from '@parley/client/react';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { PARTICIPANT_ROLES, type Participant } from '@parley/protocol/resources/participant.ts';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { IconButton } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { Confirm } from '@parley/ui/overlays/confirm.tsx';
import { UserMinus, UserPlus } from 'lucide';
import { useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { AddMember } from './add-member.tsx';
import { isLastOwner, type Rights } from './rights.ts';
import { Section } from './section.tsx';

export interface MembersProps {
  readonly conversation: Conversation;
  readonly rights: Rights;
}

/** The members of a conversation, and their presence. */
export function Members({ conversation, rights }: MembersProps) {
  const [isAdding, setAdding] = useState(false);
  const members = (conversation.participants ?? []).filter(({ type }) => type !== 'system');
  const ids = members.filter(({ type }) => type === 'user').flatMap(({ actor_id }) => actor_id ?? []);
  const { presence } = usePresence(ids);
  const mayAdd = rights.mayManage && conversation.type === 'group';
  return (
    <Section
      title={texts.details.members(members.length)}
      action={
        mayAdd && (
          <IconButton icon={UserPlus} label={texts.details.addMember} onClick={() => setAdding(true)} />
        )
      }
    >
      <ul class="members">
        {members.map((member) => (
          <Member
            key={member.id}
            member={member}
            presence={member.type === 'user' ? (presence.get(member.actor_id ?? '') ?? 'offline') : null}
            conversation={conversation}
            rights={rights}
          />
        ))}
      </ul>
      {isAdding && <AddMember conversation={conversation} onClose={() => setAdding(false)} />}
    </Section>
  );
}

interface MemberProps extends MembersProps {
  readonly member: Participant;
  /** Null for agents and customers. */
  readonly presence: 'online' | 'away' | 'offline' | null;
}

function Member({ member, presence, conversation, rights }: MemberProps) {
  const { live } = useConversation(conversation.id);
  const { id, actor, type, role } = member;
  const [isRemoving, setRemoving] = useState(false);
  const changing = useAction();
  const name = actor?.name ?? '…';
  const isOwn = id === rights.own?.id;
  const isGroup = conversation.type === 'group';
  const isLast = isLastOwner(member, conversation.participants ?? []);
  const mayChangeRole = isGroup && rights.mayOwn && type !== 'customer' && !isLast;
  const isManager = role === 'owner' || role === 'admin';
  const mayRemove = isGroup && !isOwn && !isLast && (isManager ? rights.mayOwn : rights.mayManage);
  const detail = [
    actor?.handle ?? texts.details.kinds[type],
    presence !== null && texts.details.presences[presence],
  ];
  return (
    <li class="member">
      <Avatar name={name} url={actor?.avatar_url} size={32} presence={presence ?? undefined} />
      <span class="member-name">
        {name}
        {isOwn && texts.details.you}
        <small>{detail.filter(Boolean).join(' · ')}</small>
      </span>
      {mayChangeRole ? (
        <select
          class="member-role"
          aria-label={texts.details.roleOf(name)}
          value={role}
          disabled={changing.isBusy}
          onChange={(event) => {
            const chosen = event.currentTarget.value as Participant['role'];
            void changing.run(() => live!.updateMember(id, { role: chosen }));
          }}
        >
          {PARTICIPANT_ROLES.map((one) => (
            <option key={one} value={one}>
              {texts.details.roles[one]}
            </option>
          ))}
        </select>
      ) : (
        isGroup && type !== 'customer' && <span class="member-role">{texts.details.roles[role]}</span>
      )}
      {mayRemove && (
        <IconButton
          icon={UserMinus}
          label={texts.details.removeMember(name)}
          onClick={() => setRemoving(true)}
        />
      )}
      <Problem text={changing.problem} />
      {isRemoving && (
        <Confirm
          title={texts.details.removeQuestion(name)}
          text={texts.details.removeMeans}
          action={texts.details.remove}
          isDanger
          onConfirm={() => live!.removeMember(id)}
          onClose={() => setRemoving(false)}
        />
      )}
    </li>
  );
}
