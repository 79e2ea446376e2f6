import { type AgentRunAction, ParleyError, type Run } from '@parley/client';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { fullTimeOf, shortTimeOf } from '@parley/ui/text/time.ts';
import { useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { Arguments } from './arguments.tsx';

export interface ApprovalCardProps {
  readonly action: AgentRunAction;
  readonly run: Run;
  /** The name of the agent. */
  readonly agent: string;
  readonly mayApprove: boolean;
}

/** A call of a tool that waits for a person, with exactly the arguments that are approved. */
export function ApprovalCard({ action, run, agent, mayApprove }: ApprovalCardProps) {
  const { id, tool, arguments: args, expires_at } = action;
  const [reason, setReason] = useState('');
  const { isBusy, problem, run: act } = useAction();
  const decide = (approve: boolean) =>
    act(async () => {
      const why = reason.trim() || undefined;
      try {
        await (approve ? run.approve(id, why) : run.reject(id, why));
      } catch (error) {
        // Another person has decided first, which the run shows.
        if (!(error instanceof ParleyError) || error.code !== 'resource_conflict') throw error;
      }
    });
  return (
    <section class="approval-card" aria-label={texts.runs.approvalOf(tool)}>
      <p>{texts.runs.asksToCall(<strong>{agent}</strong>, <code>{tool}</code>)}</p>
      <Arguments value={args} tool={tool} />
      <input
        aria-label={texts.runs.reason}
        placeholder={texts.runs.reasonHint}
        maxLength={1_000}
        value={reason}
        onInput={(event) => setReason(event.currentTarget.value)}
      />
      <div class="field-line approval-card-buttons">
        {mayApprove && (
          <Button look="primary" disabled={isBusy} onClick={() => decide(true)}>
            {texts.runs.approve}
          </Button>
        )}
        <Button look="danger" disabled={isBusy} onClick={() => decide(false)}>
          {texts.runs.reject}
        </Button>
        {expires_at !== null && (
          <small title={fullTimeOf(expires_at)}>{texts.runs.expires(shortTimeOf(expires_at))}</small>
        )}
      </div>
      <Problem text={problem} />
    </section>
  );
}
