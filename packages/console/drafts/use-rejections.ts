import { useConversation } from '@parley/client/react';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';

/** A draft of the person that another person has rejected. */
export interface Rejection {
  readonly id: string;
  readonly reason: string | null;
}

/** Follows which drafts of the person are rejected while the conversation is open. */
export function useRejections(conversationId: string) {
  const { me } = useSignedIn();
  const { drafts, live } = useConversation(conversationId);
  const [rejections, setRejections] = useState<readonly Rejection[]>([]);
  const before = useRef<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const own = new Set(drafts.flatMap(({ id, author_id }) => (author_id === me.actor.id ? id : [])));
    const gone = [...before.current].filter((id) => !own.has(id));
    before.current = own;
    for (const id of gone) {
      live?.outcome(id).then(
        ({ result, reason }) => {
          if (result === 'rejected') setRejections((all) => [...all, { id, reason }]);
        },
        // The draft is gone, or the connection is: nothing is lost with the notice.
        () => {},
      );
    }
  }, [drafts, live, me]);
  const dismiss = (id: string) => setRejections((all) => all.filter((one) => one.id !== id));
  return { rejections, dismiss };
}
