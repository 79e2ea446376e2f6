import { useConversation, useRun } from '@parley/client/react';
import { Button } from '@parley/ui/elements/button.tsx';
import { notifyFailure } from '@parley/ui/feedback/notify.ts';
import type { ComponentChildren } from 'preact';
import { DraftCard } from '../drafts/draft-card.tsx';
import { ApprovalCard } from '../runs/approval-card.tsx';
import { useWaitingRuns } from '../runs/waiting.ts';
import { texts } from '../texts/texts.ts';
import { CaseRow } from './case-row.tsx';
import { ConversationLink } from './conversation-link.tsx';
import {
  type ProposedDraft,
  useProposedDrafts,
  useWaitingCases,
  useWorkCounts,
  type WaitingCases,
} from './use-work.ts';

/** The work that waits for the person: cases without an owner, calls and drafts, own customers. */
export function WorkPage() {
  const runs = useWaitingRuns();
  const drafts = useProposedDrafts();
  const free = useWaitingCases('unassigned');
  const mine = useWaitingCases('mine');
  const counts = useWorkCounts();
  const isNothing = runs.length + drafts.length + free.cases.length + mine.cases.length === 0;
  return (
    <section class="work-page" aria-labelledby="work-title">
      <h1 id="work-title">{texts.work.title}</h1>
      {isNothing && <p class="work-page-empty">{texts.work.nothing}</p>}
      <Cases title={texts.work.unassigned} count={counts?.unassigned} {...free} />
      <Part title={texts.work.calls} count={runs.length}>
        {runs.map((id) => (
          <RunToDecide key={id} id={id} />
        ))}
      </Part>
      <Part title={texts.work.replies} count={drafts.length}>
        {drafts.map((draft) => (
          <DraftToDecide key={draft.id} {...draft} />
        ))}
      </Part>
      <Cases title={texts.work.customers} count={counts?.mine} {...mine} />
    </section>
  );
}

interface CasesProps extends WaitingCases {
  readonly title: string;
  /** As the server counts them, also where not all are loaded. */
  readonly count: number | undefined;
}

function Cases({ title, count, cases, more }: CasesProps) {
  if (cases.length === 0) return null;
  return (
    <Part title={title} count={count ?? cases.length}>
      <ul class="work-page-cases">
        {cases.map((conversation) => (
          <CaseRow key={conversation.id} conversation={conversation} />
        ))}
      </ul>
      {more !== null && (
        <Button onClick={() => void more().catch(notifyFailure)}>{texts.work.showMore}</Button>
      )}
    </Part>
  );
}

interface PartProps {
  readonly title: string;
  readonly count: number;
  readonly children: ComponentChildren;
}

function Part({ title, count, children }: PartProps) {
  if (count === 0) return null;
  return (
    <section class="work-page-part" aria-label={title}>
      <h2>
        {title} <span class="work-count">{count}</span>
      </h2>
      {children}
    </section>
  );
}

function RunToDecide({ id }: { readonly id: string }) {
  const { waiting, run, live } = useRun(id);
  if (live === undefined || waiting.length === 0) return null;
  const agent = run?.definition?.name ?? texts.work.agent;
  const { conversation_id: conversationId = null, triggered_by: by = null } = run ?? {};
  return (
    <div class="work-page-one">
      <p class="work-page-head">
        {conversationId === null ? (
          agent
        ) : (
          <ConversationLink id={conversationId} pane={{ shows: 'run', id }} />
        )}
        {by !== null && <small>{texts.work.askedBy(by.name ?? '')}</small>}
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
