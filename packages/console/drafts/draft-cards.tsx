import { useConversation } from '@parley/client/react';
import { IconButton } from '@parley/ui/elements/button.tsx';
import { X } from 'lucide';
import { texts } from '../texts/texts.ts';
import { DraftCard } from './draft-card.tsx';
import { useRejections } from './use-rejections.ts';

/** The reply drafts of a case that wait for a person, and the outcome of the person's own. */
export function DraftCards({ conversationId }: { readonly conversationId: string }) {
  const { drafts } = useConversation(conversationId);
  const { rejections, dismiss } = useRejections(conversationId);
  if (drafts.length === 0 && rejections.length === 0) return null;
  return (
    <section class="draft-cards" aria-label={texts.drafts.drafts}>
      {rejections.map(({ id, reason }) => (
        <div key={id} class="draft-rejected" role="status">
          <p>{texts.drafts.rejected(reason)}</p>
          <IconButton icon={X} label={texts.drafts.dismiss} onClick={() => dismiss(id)} />
        </div>
      ))}
      {drafts.map((draft) => (
        <DraftCard key={draft.id} conversationId={conversationId} draft={draft} />
      ))}
    </section>
  );
}
