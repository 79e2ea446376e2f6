import type { Client } from '@parley/client';
import { hasWords } from '@parley/protocol/folding.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { MessagingGroup } from '@parley/protocol/resources/actor.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { ChoiceField } from '@parley/ui/choices/choice-field.tsx';
import type { Choice } from '@parley/ui/choices/choice-line.tsx';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { notifyFailure } from '@parley/ui/feedback/notify.ts';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { findPeople } from '../names/people.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';

export interface AssignDialogProps {
  /** The case; null where `onChoose` assigns several. */
  readonly conversation: Conversation | null;
  readonly onChoose?: (owner: Choice) => void;
  readonly onClose: () => void;
}

/** Chooses the owner of a case: a person or a group. */
export function AssignDialog({ conversation, onChoose, onClose }: AssignDialogProps) {
  const { client, me } = useSignedIn();
  const owner = conversation?.assignee_id ?? null;
  const own = {
    id: me.actor.id,
    type: 'user',
    name: me.actor.name ?? texts.inbox.me,
    detail: texts.inbox.you,
    picture: <Avatar name={me.actor.name ?? ''} url={me.actor.avatar_url} size={24} />,
  } as const;
  const find = async (words: string): Promise<Choice[]> => {
    const [people, { data: groups }] = await Promise.all([
      findPeople(client, words, ({ type, id }) => type === 'user' && id !== own.id),
      client.fetch<List<MessagingGroup>>('/v1/messaging/groups?limit=100'),
    ]);
    const fixed = owner === null ? [own] : [own, NOBODY];
    const fitting = fixed.filter(({ name, detail }) => hasWords(`${name} ${detail}`, words));
    const choices = [
      ...fitting,
      ...people,
      ...groups.filter(({ name }) => hasWords(name, words)).map(groupChoice),
    ];
    return choices.filter(({ id }) => id !== owner);
  };
  return (
    <Dialog
      title={conversation === null ? texts.inbox.assignCases : texts.inbox.assignCase}
      onClose={onClose}
    >
      <ChoiceField
        label={texts.inbox.personOrGroup}
        autoFocus
        find={find}
        onChoose={(choice) => {
          onClose();
          onChoose?.(choice);
          if (conversation !== null) assign(client, conversation, choice).catch(notifyFailure);
        }}
      />
    </Dialog>
  );
}

/** Assigns the case to a person, who then takes part in it, or to a group. */
export async function assign(
  { conversations }: Client,
  { id, participants }: Conversation,
  owner: Choice,
): Promise<void> {
  if (owner === NOBODY) return void (await conversations.assign(id, null));
  const isPerson = 'type' in owner;
  const takesPart = participants?.some(
    ({ actor_id, membership }) => actor_id === owner.id && membership !== 'left' && membership !== 'removed',
  );
  if (isPerson && takesPart !== true) {
    await conversations.addParticipant(id, { type: 'user', actor_id: owner.id });
  }
  await conversations.assign(id, owner.id);
}

const NOBODY: Choice = { id: '', name: texts.inbox.nobody, detail: texts.inbox.unassign };

function groupChoice({ id, actor_id, name, avatar_url }: MessagingGroup): Choice {
  return {
    id: actor_id ?? id,
    name,
    detail: texts.inbox.group,
    picture: <Avatar name={name} url={avatar_url} size={24} />,
  };
}
