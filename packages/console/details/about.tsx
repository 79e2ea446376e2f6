import type { List } from '@parley/protocol/lists.ts';
import type { Entity } from '@parley/protocol/resources/actor.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { fullTimeOf } from '@parley/ui/text/time.ts';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { Pencil } from 'lucide';
import { useState } from 'preact/hooks';
import { AssignDialog } from '../inbox/assign-dialog.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { Metadata } from './metadata.tsx';
import { Picker } from './picker.tsx';
import type { Rights } from './rights.ts';

export interface AboutProps {
  readonly conversation: Conversation;
  readonly rights: Rights;
}

/** Title, owner, group and topic of a conversation. */
export function About({ conversation, rights }: AboutProps) {
  const { id, type, audience, group, created_at, external_id, metadata } = conversation;
  const isGroup = type === 'group';
  return (
    <section class="about" aria-label="About">
      {isGroup && <Title key={conversation.title} conversation={conversation} mayEdit={rights.mayManage} />}
      <dl class="about-facts">
        {audience === 'customer' && (
          <Assignee key={`assignee ${id}`} conversation={conversation} mayEdit={rights.mayWrite} />
        )}
        {group && (
          <>
            <dt>Group</dt>
            <dd>{group.name}</dd>
          </>
        )}
        <Topic conversation={conversation} mayEdit={rights.mayWrite} />
        <dt>Created</dt>
        <dd>{fullTimeOf(created_at)}</dd>
        <Metadata externalId={external_id ?? null} metadata={metadata ?? {}} />
      </dl>
    </section>
  );
}

interface FactProps {
  readonly conversation: Conversation;
  readonly mayEdit: boolean;
}

function Title({ conversation: { id, title, audience }, mayEdit }: FactProps) {
  const isCase = audience === 'customer';
  const { conversations } = useSignedIn().client;
  const [text, setText] = useState<string | null>(null);
  const { isBusy, problem, run } = useAction();
  if (text === null) {
    return (
      <div class="field-line about-title">
        <p>
          {title ?? 'Untitled'}
          {isCase && <small class="about-public">{CUSTOMERS_SEE}</small>}
        </p>
        {mayEdit && (
          <IconButton icon={Pencil} label="Change the title" onClick={() => setText(title ?? '')} />
        )}
      </div>
    );
  }
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await run(() => conversations.update(id, { title: text.trim() || null }))) setText(null);
  };
  return (
    <form class="field-line about-title" onSubmit={submit}>
      <input
        aria-label="Title"
        aria-describedby={isCase ? 'about-public' : undefined}
        // The person has just asked to change it.
        ref={(element) => element?.focus()}
        maxLength={255}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (pressedKey(event) === 'Escape') setText(null);
        }}
      />
      <Button type="submit" look="primary" disabled={isBusy}>
        Save
      </Button>
      <Button onClick={() => setText(null)}>Cancel</Button>
      {isCase && (
        <small id="about-public" class="about-public">
          {CUSTOMERS_SEE}
        </small>
      )}
      <Problem text={problem} />
    </form>
  );
}

const CUSTOMERS_SEE = 'Customers see this title.';

function Assignee({ conversation, mayEdit }: FactProps) {
  const [isOpen, setOpen] = useState(false);
  const { assignee, assignee_id: id } = conversation;
  const name = id ? (assignee?.name ?? '…') : 'Nobody';
  return (
    <>
      <dt>Assignee</dt>
      <dd>
        <span>{name}</span>
        {mayEdit && (
          <Button look="plain" aria-label="Change the assignee" onClick={() => setOpen(true)}>
            Change
          </Button>
        )}
        {isOpen && <AssignDialog conversation={conversation} onClose={() => setOpen(false)} />}
      </dd>
    </>
  );
}

function Topic({ conversation: { id, topic }, mayEdit }: FactProps) {
  const { client } = useSignedIn();
  const [isPicking, setPicking] = useState(false);
  const { problem, run } = useAction();
  if (topic === null && !mayEdit) return null;
  const set = (chosen: Pick<Entity, 'type' | 'id'> | null) =>
    client.conversations.update(id, { topic: chosen });
  return (
    <>
      <dt>Topic</dt>
      <dd>
        <span>
          {topic === null ? 'No topic' : (topic.name ?? topic.id)}
          {topic?.handle && <small> {topic.handle}</small>}
        </span>
        {mayEdit && (
          <span class="about-buttons">
            <Button
              look="plain"
              aria-label={topic === null ? 'Set the topic' : 'Change the topic'}
              onClick={() => setPicking(true)}
            >
              {topic === null ? 'Set' : 'Change'}
            </Button>
            {topic !== null && (
              <Button look="plain" aria-label="Clear the topic" onClick={() => run(() => set(null))}>
                Clear
              </Button>
            )}
          </span>
        )}
        <Problem text={problem} />
        {isPicking && (
          <Picker
            title="What is it about?"
            placeholder="Name of an order, a product, …"
            action="Set"
            search={async (q) => {
              const query = new URLSearchParams({ limit: '20', ...(q !== '' && { q }) });
              const { data } = await client.fetch<List<Entity>>(`/v1/entities?${query}`);
              return data.map((entity) => ({ ...entity, detail: entity.handle }));
            }}
            onPick={({ type, id }) => set({ type, id })}
            onClose={() => setPicking(false)}
          />
        )}
      </dd>
    </>
  );
}
