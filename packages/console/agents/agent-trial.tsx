import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useState } from 'preact/hooks';
import type { MoreProps } from '../administration/section.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { Conversation } from '../timeline/conversation.tsx';

/** Tries an agent in place: a conversation of the caller and the agent alone. */
export function AgentTrial({ item }: MoreProps) {
  const { client, can } = useSignedIn();
  const [conversation, setConversation] = useState<string>();
  const { problem, run } = useAction();
  const { actor_id: agent, trigger_type, status, name } = item;
  if (trigger_type !== 'chat' || status !== 'active' || !can('messaging:create')) return null;
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
      <p>A conversation with the agent alone. It answers every message, and each answer is a run.</p>
      <Problem text={problem} />
      {conversation === undefined ? (
        <p>
          <Button onClick={() => run(begin)}>Try it</Button>
        </p>
      ) : (
        <div class="agent-trial">
          <Conversation key={conversation} id={conversation} />
        </div>
      )}
    </section>
  );
}
