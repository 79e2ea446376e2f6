import type { List } from '@parley/protocol/lists.ts';
import type { CreateConversationBody } from '@parley/protocol/resources/conversation.ts';
import type { Inbox } from '@parley/protocol/resources/inbox.ts';
import { ChoiceField } from '@parley/ui/choices/choice-field.tsx';
import { ChoiceLine } from '@parley/ui/choices/choice-line.tsx';
import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { X } from 'lucide';
import { useState } from 'preact/hooks';
import { findPeople, type PersonChoice } from '../names/people.tsx';
import { go } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';

type Kind = keyof typeof FORMS;

/** Begins a conversation: with a person, with several, or with a customer. */
export function NewConversation({ onClose }: { readonly onClose: () => void }) {
  const { client } = useSignedIn();
  const [kind, setKind] = useState<Kind>('direct');
  const { problem, run } = useAction();
  const create = (body: CreateConversationBody) =>
    run(async () => {
      const { id } = await client.conversations.create(body);
      onClose();
      go({ main: { at: 'conversation', id } });
    });
  const Form = FORMS[kind];
  return (
    <Dialog title={texts.inbox.newConversation} class="new-conversation" onClose={onClose}>
      <fieldset class="new-conversation-kinds">
        <legend class="hidden-visually">{texts.inbox.kind}</legend>
        {(Object.entries(texts.inbox.kinds) as [Kind, string][]).map(([value, label]) => (
          <label key={value} class="new-conversation-kind">
            <input
              type="radio"
              name="new-conversation-kind"
              checked={value === kind}
              onChange={() => setKind(value)}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <Form create={create} />
      <Problem text={problem} />
    </Dialog>
  );
}

interface FormProps {
  readonly create: (body: CreateConversationBody) => Promise<unknown>;
}

function DirectForm({ create }: FormProps) {
  const { client, me } = useSignedIn();
  return (
    <ChoiceField
      label={texts.inbox.person}
      placeholder={texts.inbox.nameOrAddress}
      autoFocus
      find={(words) => findPeople(client, words, ({ id, type }) => type === 'user' && id !== me.actor.id)}
      onChoose={({ id }) =>
        void create({ type: 'direct_message', participants: [{ type: 'user', actor_id: id }] })
      }
    />
  );
}

function GroupForm({ create }: FormProps) {
  const [title, setTitle] = useState('');
  const [members, setMembers] = useState<readonly PersonChoice[]>([]);
  const submit = (event: Event) => {
    event.preventDefault();
    const name = title.trim();
    void create({
      type: 'group',
      ...(name !== '' && { title: name }),
      participants: members.map(({ id, type }) => ({ type, actor_id: id })),
    });
  };
  return (
    <form class="new-conversation-form" onSubmit={submit}>
      <label>
        {texts.inbox.title}
        <input
          value={title}
          maxLength={200}
          placeholder={texts.inbox.about}
          onInput={(event) => setTitle(event.currentTarget.value)}
        />
      </label>
      <Members members={members} onChange={setMembers} />
      <Button type="submit" look="primary" disabled={title.trim() === '' && members.length === 0}>
        {texts.inbox.createGroup}
      </Button>
    </form>
  );
}

interface MembersProps {
  readonly members: readonly PersonChoice[];
  readonly onChange: (members: readonly PersonChoice[]) => void;
}

function Members({ members, onChange }: MembersProps) {
  const { client, me } = useSignedIn();
  const taken = new Set([me.actor.id, ...members.map(({ id }) => id)]);
  return (
    <>
      <ChoiceField
        label={texts.inbox.members}
        placeholder={texts.inbox.nameOrAddress}
        find={(words) => findPeople(client, words, ({ id }) => !taken.has(id))}
        onChoose={(choice) => onChange([...members, choice as PersonChoice])}
      />
      {members.length > 0 && (
        <ul class="new-conversation-members" aria-label={texts.inbox.chosenMembers}>
          {members.map((member) => (
            <li key={member.id}>
              <ChoiceLine choice={{ ...member, detail: null }} />
              <IconButton
                icon={X}
                label={texts.inbox.remove(member.name)}
                onClick={() => onChange(members.filter(({ id }) => id !== member.id))}
              />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function CaseForm({ create }: FormProps) {
  const { client, can } = useSignedIn();
  const [title, setTitle] = useState('');
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [inboxId, setInboxId] = useState('');
  const [members, setMembers] = useState<readonly PersonChoice[]>([]);
  const { value: inboxes } = useResource(can('inboxes:read') ? 'inboxes' : null, (signal) =>
    client.fetch<List<Inbox>>('/v1/messaging/inboxes?limit=100', { signal }),
  );
  const submit = (event: Event) => {
    event.preventDefault();
    const [subject, called, address] = [title, name, email].map((text) => text.trim());
    void create({
      type: 'group',
      audience: 'customer',
      ...(subject && { title: subject }),
      ...(inboxId !== '' && { inbox_id: inboxId }),
      participants: [
        { type: 'customer', ...(called && { name: called }), ...(address && { email: address }) },
        ...members.map(({ id, type }) => ({ type, actor_id: id })),
      ],
    });
  };
  return (
    <form class="new-conversation-form" onSubmit={submit}>
      <label>
        {texts.inbox.subject}
        <input value={title} maxLength={200} onInput={(event) => setTitle(event.currentTarget.value)} />
        <small>{texts.inbox.customerSees}</small>
      </label>
      <label>
        {texts.inbox.customerName}
        <input
          required
          value={name}
          maxLength={200}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <label>
        {texts.inbox.mailAddress}
        <input
          type="email"
          required={inboxId !== ''}
          value={email}
          onInput={(event) => setEmail(event.currentTarget.value)}
        />
        <small>{texts.inbox.knownAddress}</small>
      </label>
      {inboxes !== null && inboxes.data.length > 0 && (
        <label>
          {texts.inbox.repliesLeave}
          <select value={inboxId} onChange={(event) => setInboxId(event.currentTarget.value)}>
            <option value="">{texts.inbox.inChatAlone}</option>
            {inboxes.data.map(({ id, name: inbox, address }) => (
              <option key={id} value={id}>
                {texts.inbox.asMailFrom(inbox, address)}
              </option>
            ))}
          </select>
        </label>
      )}
      <Members members={members} onChange={setMembers} />
      <Button type="submit" look="primary" disabled={name.trim() === ''}>
        {texts.inbox.openCase}
      </Button>
    </form>
  );
}

const FORMS = { direct: DirectForm, group: GroupForm, case: CaseForm };
