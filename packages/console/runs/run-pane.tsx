import type { AgentRun } from '@parley/client';
import { useRun } from '@parley/client/react';
import { OPEN_STATUSES } from '@parley/protocol/resources/run-status.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { costText, durationText } from '@parley/ui/text/amounts.ts';
import { Markdown } from '@parley/ui/text/markdown.tsx';
import { fullTimeOf } from '@parley/ui/text/time.ts';
import { failureText } from '@parley/ui/texts/failure-text.ts';
import { CircleStop } from 'lucide';
import { Section } from '../details/section.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { ApprovalCard } from './approval-card.tsx';
import { ArtifactFile } from './artifact-link.tsx';
import { useRunRights } from './run-rights.ts';
import { RunSteps } from './run-steps.tsx';
import { RUN_WORDS, toneOf } from './run-words.ts';
import { useWaitingRuns } from './waiting.ts';

export interface RunPaneProps {
  readonly id: string;
  /** The conversation beside which the run is shown. */
  readonly conversationId: string;
}

/** The run of an agent, live: its text, its steps and calls, its cost, and its end. */
export function RunPane({ id, conversationId }: RunPaneProps) {
  const { run, text, steps, actions, waiting, error, status, live } = useRun(id);
  const { me } = useSignedIn();
  const { mayAct } = useRunRights(conversationId);
  // People who may call an endpoint themselves are asked to approve its calls.
  const isAsked = useWaitingRuns().includes(id) || me.role?.type === 'admin';
  const { isBusy, problem, run: act } = useAction();
  if (run === null) {
    return (
      <p class="side-pane-empty">{status === 'error' ? error && failureText(error) : texts.runs.loading}</p>
    );
  }
  const isOpen = (OPEN_STATUSES as readonly string[]).includes(run.status);
  const agent = run.definition?.name ?? texts.runs.agent;
  const { artifacts = [] } = (run.output ?? {}) as { readonly artifacts?: readonly string[] };
  return (
    <div class="run-pane">
      <header class="run-pane-head">
        <strong>{agent}</strong>
        <span class={`run-tone run-tone-${toneOf(run.status)}`} role="status">
          {RUN_WORDS[run.status]}
        </span>
        {isOpen && mayAct && (
          <Button icon={CircleStop} disabled={isBusy} onClick={() => act(() => live!.cancel())}>
            {texts.runs.stop}
          </Button>
        )}
      </header>
      <Problem text={problem} />
      {run.error_message !== null && <p class="run-problem">{run.error_message}</p>}
      {live !== undefined &&
        mayAct &&
        waiting.map((action) => (
          <ApprovalCard
            key={action.id}
            action={action}
            run={live}
            agent={agent}
            mayApprove={isAsked || action.category === 'built_in'}
          />
        ))}
      {text !== '' && (
        <Section title={texts.runs.answer}>
          <div class="run-answer" data-streaming={run.status === 'running'}>
            <Markdown text={text} />
          </div>
        </Section>
      )}
      {artifacts.length > 0 && (
        <Section title={texts.runs.files}>
          {artifacts.map((artifact) => (
            <ArtifactFile key={artifact} id={artifact} />
          ))}
        </Section>
      )}
      <Section title={texts.runs.steps}>
        <RunSteps steps={steps} actions={actions} />
      </Section>
      <Facts run={run} />
    </div>
  );
}

function Facts({ run }: { readonly run: AgentRun }) {
  const { costUsd } = useRun(run.id);
  const started = run.started_at === null ? null : fullTimeOf(run.started_at);
  const facts: readonly (readonly [string, string | null])[] = [
    [texts.runs.startedBy, run.triggered_by?.name ?? texts.runs.triggers[run.trigger_type]],
    [texts.runs.started, started],
    [texts.runs.took, run.duration_ms === null ? null : durationText(run.duration_ms)],
    [texts.runs.cost, costUsd === null ? null : costText(costUsd)],
  ];
  return (
    <dl class="about-facts">
      {facts.map(([name, value]) => value !== null && <Fact key={name} name={name} value={value} />)}
    </dl>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}
