import { Button } from '@parley/ui/elements/button.tsx';
import { useRef, useState } from 'preact/hooks';
import { useSignedIn } from '../../session/session-context.tsx';
import { Conversation } from '../../timeline/conversation.tsx';
import type { MoreProps } from '../section.ts';

/** Tries an agent in place: a conversation of the caller and the agent alone. */
export function AgentTrial({ item }: MoreProps) {
  const { client, can } = useSignedIn();
  const [conversation, setConversation] = useState<string>();
  const [problem, setProblem] = useState('');
  const underWay = useRef(false);
  const { actor_id: agent, trigger_type, status, name } = item;
  if (trigger_type !== 'chat' || status !== 'active' || !can('messaging:create')) return null;
  const begin = async () => {
    if (underWay.current) return;
    underWay.current = true;
    try {
      const { id } = await client.conversations.create({
        ...{ type: 'group', audience: 'internal', title: `Trial of ${name}` },
        participants: [{ type: 'agent', actor_id: String(agent), agent_trigger_policy: 'always' }],
      });
      setConversation(id);
      setProblem('');
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      underWay.current = false;
    }
  };
  return (
    <section class="administration-part" aria-label="Trial">
      <h2>Trial</h2>
      <p>A conversation with the agent alone. It answers every message, and each answer is a run.</p>
      {problem !== '' && <p role="alert">{problem}</p>}
      {conversation === undefined ? (
        <p>
          <Button onClick={begin}>Try it</Button>
        </p>
      ) : (
        <div class="agent-trial">
          <Conversation key={conversation} id={conversation} />
        </div>
      )}
    </section>
  );
}
