import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { Picker } from './picker.tsx';

export interface AddMemberProps {
  readonly conversation: Conversation;
  readonly onClose: () => void;
}

/** Adds a teammate or an agent; to a case, also another customer. */
export function AddMember({ conversation: { id, audience, participants }, onClose }: AddMemberProps) {
  const { client } = useSignedIn();
  const [isCustomer, setCustomer] = useState(false);
  if (isCustomer) return <AddCustomer conversationId={id} onClose={onClose} />;
  const present = new Set(participants?.map(({ actor_id }) => actor_id));
  return (
    <Picker
      title={texts.details.addMember}
      placeholder={texts.details.nameOrEmail}
      action={texts.details.add}
      search={async (q) => {
        const { value } = await client.people({ limit: 50, ...(q !== '' && { q }) }).next();
        return (value?.data ?? [])
          .filter((person) => !present.has(person.id))
          .map((person) => ({
            ...person,
            detail: person.type === 'agent' ? texts.details.agent : person.handle,
          }));
      }}
      onPick={({ id: actorId, type }) => client.conversations.addParticipant(id, { type, actor_id: actorId })}
      onClose={onClose}
    >
      {audience === 'customer' && (
        <Button look="plain" onClick={() => setCustomer(true)}>
          {texts.details.addAnotherCustomer}
        </Button>
      )}
    </Picker>
  );
}

interface AddCustomerProps {
  readonly conversationId: string;
  readonly onClose: () => void;
}

function AddCustomer({ conversationId, onClose }: AddCustomerProps) {
  const { conversations } = useSignedIn().client;
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const { isBusy, problem, run } = useAction();
  const submit = async (event: Event) => {
    event.preventDefault();
    const customer = { type: 'customer', name: name.trim(), email: email.trim() } as const;
    if (await run(() => conversations.addParticipant(conversationId, customer))) onClose();
  };
  return (
    <Dialog title={texts.details.addCustomer} onClose={onClose}>
      <form class="add-customer" onSubmit={submit}>
        <p>{texts.details.customerReads}</p>
        <label>
          {texts.details.name}
          <input required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          {texts.details.emailAddress}
          <input
            required
            type="email"
            value={email}
            onInput={(event) => setEmail(event.currentTarget.value)}
          />
        </label>
        <Problem text={problem} />
        <Button type="submit" look="primary" disabled={isBusy}>
          {texts.details.add}
        </Button>
      </form>
    </Dialog>
  );
}
