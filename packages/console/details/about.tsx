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
import { texts } from '../texts/texts.ts';
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
    <section class="about" aria-label={texts.details.about}>
      {isGroup && <Title key={conversation.title} conversation={conversation} mayEdit={rights.mayManage} />}
      <dl class="about-facts">
        {audience === 'customer' && (
          <Assignee key={`assignee ${id}`} conversation={conversation} mayEdit={rights.mayWrite} />
        )}
        {group && (
          <>
            <dt>{texts.details.group}</dt>
            <dd>{group.name}</dd>
          </>
        )}
        <Topic conversation={conversation} mayEdit={rights.mayWrite} />
        <dt>{texts.details.created}</dt>
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
          {title ?? texts.details.untitled}
          {isCase && <small class="about-public">{texts.details.customersSee}</small>}
        </p>
        {mayEdit && (
          <IconButton icon={Pencil} label={texts.details.changeTitle} onClick={() => setText(title ?? '')} />
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
        aria-label={texts.details.title}
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
        {texts.details.save}
      </Button>
      <Button onClick={() => setText(null)}>{texts.details.cancel}</Button>
      {isCase && (
        <small id="about-public" class="about-public">
          {texts.details.customersSee}
        </small>
      )}
      <Problem text={problem} />
    </form>
  );
}

function Assignee({ conversation, mayEdit }: FactProps) {
  const [isOpen, setOpen] = useState(false);
  const { assignee, assignee_id: id } = conversation;
  const name = id ? (assignee?.name ?? '…') : texts.details.nobody;
  return (
    <>
      <dt>{texts.details.assignee}</dt>
      <dd>
        <span>{name}</span>
        {mayEdit && (
          <Button look="plain" aria-label={texts.details.changeAssignee} onClick={() => setOpen(true)}>
            {texts.details.change}
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
      <dt>{texts.details.topic}</dt>
      <dd>
        <span>
          {topic === null ? texts.details.noTopic : (topic.name ?? topic.id)}
          {topic?.handle && <small> {topic.handle}</small>}
        </span>
        {mayEdit && (
          <span class="about-buttons">
            <Button
              look="plain"
              aria-label={topic === null ? texts.details.setTopic : texts.details.changeTopic}
              onClick={() => setPicking(true)}
            >
              {topic === null ? texts.details.set : texts.details.change}
            </Button>
            {topic !== null && (
              <Button look="plain" aria-label={texts.details.clearTopic} onClick={() => run(() => set(null))}>
                {texts.details.clear}
              </Button>
            )}
          </span>
        )}
        <Problem text={problem} />
        {isPicking && (
          <Picker
            title={texts.details.topicQuestion}
            placeholder={texts.details.topicExample}
            action={texts.details.set}
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
