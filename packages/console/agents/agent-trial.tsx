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
      title: `Trial of ${name}`,
      participants: [{ type: 'agent', actor_id: String(agent), agent_trigger_policy: 'always' }],
    });
    setConversation(id);
  };
  return (
    <section class="administration-part" aria-label="Trial">
      <h2>Trial</h2>
      {hindrance === undefined ? (
        <p>A conversation with the agent alone. It answers every message, and each answer is a run.</p>
      ) : (
        <p role="note">{hindrance}</p>
      )}
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
            <Button onClick={() => run(begin)}>Try it</Button>
          </p>
        )
      )}
    </section>
  );
}

/** Returns why the agent would not answer; undefined if nothing is known to hinder it. */
function hindranceOf({ role, role_id, status, trigger_type }: Item): string | undefined {
  if (status !== 'active') return 'It is inactive, so it is not started. Edit it to make it active.';
  if ((role ?? role_id ?? null) === null) return 'It has no role, so it cannot run. Edit it to give it one.';
  if (trigger_type !== 'chat') {
    return 'It does not answer messages: the clock, an event or a person starts it. “Start a run” starts it now.';
  }
  return undefined;
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
      It did not answer: {run.error_message ?? 'the run failed.'}{' '}
      <Link to={{ main: { at: 'administration', section: 'runs', id: run.id } }}>Show the run</Link>
    </p>
  );
}
