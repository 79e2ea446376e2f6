import { useRun } from '@parley/client/react';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { Bot } from 'lucide';
import { usePlace } from '../nav/place.ts';
import { texts } from '../texts/texts.ts';
import { ApprovalCard } from './approval-card.tsx';
import { RunLink } from './run-link.tsx';
import { useRunRights } from './run-rights.ts';
import { useWaitingRuns } from './waiting.ts';

/**
 * The calls in a conversation that wait for this person, above the composer. They appear and
 * disappear live when any person has decided. None while the pane of their run shows them.
 */
export function WaitingRuns({ conversationId }: { readonly conversationId: string }) {
  const { mayAct } = useRunRights(conversationId);
  const { pane } = usePlace();
  const shown = pane?.shows === 'run' ? pane.id : undefined;
  const ids = useWaitingRuns(conversationId).filter((id) => id !== shown);
  return (
    <div class="waiting-runs" data-focus="button:enabled" role="status" aria-label={texts.runs.waiting}>
      {mayAct && ids.map((id) => <WaitingRun key={id} id={id} />)}
    </div>
  );
}

function WaitingRun({ id }: { readonly id: string }) {
  const { waiting, run, live } = useRun(id);
  const agent = run?.definition?.name ?? texts.runs.agent;
  if (live === undefined || waiting.length === 0) return null;
  return (
    <div class="waiting-run">
      <p class="waiting-run-head">
        <Icon of={Bot} size={16} />
        <span>
          {texts.runs.waitsForApproval(agent)}
          {run?.triggered_by && <small>{texts.runs.askedBy(run.triggered_by.name)}</small>}
        </span>
        <RunLink id={id} />
      </p>
      {waiting.map((action) => (
        <ApprovalCard key={action.id} action={action} run={live} agent={agent} mayApprove />
      ))}
    </div>
  );
}
