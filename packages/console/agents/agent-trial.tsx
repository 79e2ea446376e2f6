import type { AgentRun } from '@parley/client';
import type { List } from '@parley/protocol/lists.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useState } from 'preact/hooks';
import type { Item, MoreProps } from '../administration/section.ts';
import { useAdministration } from '../administration/use-administration.ts';
import { Link } from '../nav/link.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { Conversation } from '../timeline/conversation.tsx';

/** Tries an agent in place: a conversation of the caller and the agent alone. */
export function AgentTrial({ item }: MoreProps) {
  const { client, can } = useSignedIn();
  const [conversation, setConversation] = useState<string>();
  const { problem, run } = useAction();
  const { actor_id: agent, name } = item;
  if (!can('messaging:create')) return null;
  const hindrance = hindranceOf(item);
  const begin = async () => {
    const { id } = await client.conversations.create({
      type: 'group',
      audience: 'internal',
      title: texts.agents.trialOf(String(name)),
      participants: [{ type: 'agent', actor_id: String(agent), agent_trigger_policy: 'always' }],
    });
    setConversation(id);
  };
  return (
    <section class="administration-part" aria-label={texts.agents.trial}>
      <h2>{texts.agents.trial}</h2>
      {hindrance === undefined ? <p>{texts.agents.aboutTrial}</p> : <p role="note">{hindrance}</p>}
      <Problem text={problem} />
      {conversation !== undefined ? (
        <>
          <LastRun agent={item.id} conversation={conversation} />
          <div class="agent-trial">
            <Conversation key={conversation} id={conversation} />
          </div>
        </>
      ) : (
        hindrance === undefined && (
          <p>
            <Button onClick={() => run(begin)}>{texts.agents.try}</Button>
          </p>
        )
      )}
    </section>
  );
}

/** Returns why the agent would not answer; undefined if nothing is known to hinder it. */
function hindranceOf({ role, role_id, status, trigger_type }: Item): string | undefined {
  if (status !== 'active') return texts.agents.inactive;
  if ((role ?? role_id ?? null) === null) return texts.agents.noRole;
  return trigger_type === 'chat' ? undefined : texts.agents.noChat;
}

interface LastRunProps {
  readonly agent: string;
  readonly conversation: string;
}

/** Says why the last run of the trial has failed, or that the agent works. */
function LastRun({ agent, conversation }: LastRunProps) {
  const { client } = useSignedIn();
  const runs = useAdministration().offered('list_runs');
  const query = new URLSearchParams({ agent_id: agent, conversation_id: conversation, limit: '1' });
  const { value } = useResource(
    runs === undefined ? null : conversation,
    async (signal) => (await client.fetch<List<AgentRun>>(`${runs!.path}?${query}`, { signal })).data,
    { isMoving: () => true },
  );
  const run = value?.[0];
  if (run?.status !== 'failed') return null;
  return (
    <p class="field-problem" role="alert">
      {texts.agents.noAnswer(run.error_message ?? texts.agents.runFailed)}{' '}
      <Link to={{ main: { at: 'administration', section: 'runs', id: run.id } }}>{texts.agents.showRun}</Link>
    </p>
  );
}
