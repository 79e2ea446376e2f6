import { useConversation, useRun } from '@parley/client/react';
import type { ComponentChildren } from 'preact';
import { DraftCard } from '../drafts/draft-card.tsx';
import { ApprovalCard } from '../runs/approval-card.tsx';
import { useWaitingRuns } from '../runs/waiting.ts';
import { CaseRow } from './case-row.tsx';
import { ConversationLink } from './conversation-link.tsx';
import { type ProposedDraft, useCasesToAnswer, useProposedDrafts } from './use-work.ts';

/** The work that waits for the person: calls and drafts to decide, and customers to answer. */
export function WorkPage() {
  const runs = useWaitingRuns();
  const drafts = useProposedDrafts();
  const { cases, hasMore } = useCasesToAnswer();
  const isNothing = runs.length + drafts.length + cases.length === 0;
  return (
    <section class="work-page" aria-labelledby="work-title">
      <h1 id="work-title">Work</h1>
      {isNothing && <p class="work-page-empty">Nothing waits for you.</p>}
      <Part title="Calls to approve" count={runs.length}>
        {runs.map((id) => (
          <RunToDecide key={id} id={id} />
        ))}
      </Part>
      <Part title="Replies to approve" count={drafts.length}>
        {drafts.map((draft) => (
          <DraftToDecide key={draft.id} {...draft} />
        ))}
      </Part>
      <Part title="Customers to answer" count={cases.length} hasMore={hasMore}>
        <ul class="work-page-cases">
          {cases.map((conversation) => (
            <CaseRow key={conversation.id} conversation={conversation} />
          ))}
        </ul>
      </Part>
    </section>
  );
}

interface PartProps {
  readonly title: string;
  readonly count: number;
  readonly hasMore?: boolean;
  readonly children: ComponentChildren;
}

function Part({ title, count, hasMore = false, children }: PartProps) {
  if (count === 0) return null;
  return (
    <section class="work-page-part" aria-label={title}>
      <h2>
        {title}{' '}
        <span class="work-count">
          {count}
          {hasMore && '+'}
        </span>
      </h2>
      {children}
    </section>
  );
}

function RunToDecide({ id }: { readonly id: string }) {
  const { waiting, run, live } = useRun(id);
  if (live === undefined || waiting.length === 0) return null;
  const agent = run?.definition?.name ?? 'The agent';
  const { conversation_id: conversationId = null, triggered_by: by = null } = run ?? {};
  return (
    <div class="work-page-one">
      <p class="work-page-head">
        {conversationId === null ? (
          agent
        ) : (
          <ConversationLink id={conversationId} pane={{ shows: 'run', id }} />
        )}
        {by !== null && <small>Asked by {by.name}</small>}
      </p>
      {waiting.map((action) => (
        <ApprovalCard key={action.id} action={action} run={live} agent={agent} mayApprove />
      ))}
    </div>
  );
}

function DraftToDecide({ id, conversationId }: ProposedDraft) {
  const { drafts } = useConversation(conversationId);
  const draft = drafts.find((one) => one.id === id);
  if (draft === undefined) return null;
  return (
    <div class="work-page-one">
      <p class="work-page-head">
        <ConversationLink id={conversationId} />
      </p>
      <DraftCard conversationId={conversationId} draft={draft} />
    </div>
  );
}
