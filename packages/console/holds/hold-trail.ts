import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { type HoldChange, holdChangeOf } from './hold-change.ts';

/** Returns the changes of a legal hold, newest first; null until they are known. */
export function useHoldTrail({ id, legal_hold, updated_at }: Conversation): readonly HoldChange[] | null {
  const { client } = useSignedIn();
  const read = async () => {
    const found: HoldChange[] = [];
    for await (const { data } of client.conversations.audit(id)) {
      found.push(...data.flatMap((event) => holdChangeOf(event) ?? []));
    }
    return found;
  };
  return useResource(id, read, { version: `${legal_hold} ${updated_at}` }).value;
}
