import { useConversation } from '@parley/client/react';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import type { Mention, Writing } from '../session/kept-writing.ts';
import { texts } from '../texts/texts.ts';
import { mentionsIn } from '../writing/mentions.ts';
import { useStanding } from '../writing/use-standing.ts';

export interface StrangersProps {
  readonly conversationId: string;
  readonly writing: Writing;
}

/** Says which people of a text are no members, and offers to add them. */
export function Strangers({ conversationId, writing }: StrangersProps) {
  const { live } = useConversation(conversationId);
  const { conversation, runsConversation } = useStanding(conversationId);
  const { isBusy, problem, run } = useAction();
  const members = conversation?.participants ?? null;
  if (members === null) return null;
  const strangers = mentionsIn(writing.text, writing.mentions).filter(
    ({ id }) => !members.some(({ actor, actor_id }) => (actor_id ?? actor?.id) === id),
  );
  const mayAdd = runsConversation && conversation?.type === 'group';
  const add = ({ id, type }: Mention) => run(async () => live?.addMember({ type, actor_id: id }));
  if (strangers.length === 0) return null;
  return (
    <div class="composer-strangers">
      {strangers.map((stranger) => (
        <p key={stranger.id}>
          {texts.composer.stranger(stranger.name)}{' '}
          {mayAdd && (
            <Button disabled={isBusy} onClick={() => add(stranger)}>
              {texts.composer.add(stranger.name)}
            </Button>
          )}
        </p>
      ))}
      <Problem text={problem} />
    </div>
  );
}
