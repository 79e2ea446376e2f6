import { useConversation } from '@parley/client/react';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { Button } from '@parley/ui/elements/button.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { Markdown } from '@parley/ui/text/markdown.tsx';
import { shownAddress, shownName } from '@parley/ui/text/shown-name.ts';
import { shortTimeOf } from '@parley/ui/text/time.ts';
import { Check, FileText, Pencil, X } from 'lucide';
import { useState } from 'preact/hooks';
import { INCOMPLETE_WORDS } from '../runs/incomplete-words.ts';
import { texts } from '../texts/texts.ts';
import { MessageEdit } from '../writing/message-edit.tsx';
import { useStanding } from '../writing/use-standing.ts';
import { refusalOf } from '../writing/writable.ts';
import { RejectForm } from './reject-form.tsx';

export interface DraftCardProps {
  readonly conversationId: string;
  readonly draft: ChatMessage;
}

/** A reply to the customer that an agent or a person proposes. */
export function DraftCard({ conversationId, draft }: DraftCardProps) {
  const { id } = draft;
  const { live, people } = useConversation(conversationId);
  const standing = useStanding(conversationId);
  const { isBusy, problem, run } = useAction();
  const [shows, setShows] = useState<'text' | 'edit' | 'reject'>('text');
  const mayDecide = standing.can('messaging:update') && refusalOf(standing) === null;
  const isGrowing = draft.streaming_state === 'streaming';
  const author = draft.author ?? people.get(draft.author_id ?? '');
  const name = author?.name ?? texts.drafts.colleague;
  const editor = people.get(draft.edited_by ?? '')?.name;
  const approve = () => run(async () => live?.approve(id));
  return (
    <article
      class="draft-card"
      data-focus="button:enabled"
      aria-label={texts.drafts.draftOf(name)}
      aria-busy={isGrowing}
    >
      <header class="draft-card-head">
        <Avatar name={name} url={author?.avatar_url} size={24} />
        <p>
          {texts.drafts.proposes(<strong>{name}</strong>, draft.channel === 'email')}
          <small>
            {shortTimeOf(draft.created_at)}
            {editor !== undefined && texts.drafts.editedBy(editor)}
          </small>
        </p>
      </header>
      {shows === 'edit' ? (
        <MessageEdit
          conversationId={conversationId}
          message={draft}
          onSave={(change) => live?.edit(id, change)}
          onSend={() => live?.approve(id)}
          onEnd={() => setShows('text')}
        />
      ) : (
        <Content draft={draft} />
      )}
      {shows === 'reject' && (
        <RejectForm onReject={(why) => live?.reject(id, why)} onEnd={() => setShows('text')} />
      )}
      {draft.incomplete && (
        <p class="draft-card-cut">
          {INCOMPLETE_WORDS[draft.incomplete]} {texts.drafts.readToEnd}
        </p>
      )}
      <Problem text={problem === '' ? '' : texts.drafts.notSent(problem)} />
      {mayDecide && shows === 'text' && (
        <div class="draft-card-tools">
          <Button look="primary" icon={Check} disabled={isGrowing || isBusy} onClick={approve}>
            {texts.drafts.approve}
          </Button>
          <Button icon={Pencil} disabled={isGrowing || isBusy} onClick={() => setShows('edit')}>
            {texts.drafts.edit}
          </Button>
          <Button icon={X} disabled={isGrowing || isBusy} onClick={() => setShows('reject')}>
            {texts.drafts.reject}
          </Button>
        </div>
      )}
    </article>
  );
}

function Content({ draft }: { readonly draft: ChatMessage }) {
  const { subject, cc = null, body, attachments } = draft;
  return (
    <section class="draft-card-content" aria-label={texts.drafts.text} tabIndex={0}>
      {subject !== null && (
        <p class="draft-card-mail">
          <span>{texts.drafts.subject}</span> {subject}
        </p>
      )}
      {cc !== null && cc.length > 0 && (
        <p class="draft-card-mail">
          <span>{texts.drafts.copies}</span> {cc.join(', ')}
        </p>
      )}
      <Markdown text={body ?? ''} />
      {attachments?.map(({ id, filename, url }) => (
        <p key={id} class="draft-card-file">
          <Icon of={FileText} size={14} />{' '}
          {shownName(filename ?? (url === null ? texts.drafts.resource : shownAddress(url)))}
        </p>
      ))}
    </section>
  );
}
