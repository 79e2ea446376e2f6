import type { AgentRunAction, AgentRunStep } from '@parley/client';
import { Json } from '@parley/ui/data/json.tsx';
import { costText, durationText } from '@parley/ui/text/amounts.ts';
import { Markdown } from '@parley/ui/text/markdown.tsx';
import { fullTimeOf } from '@parley/ui/text/time.ts';
import { ActorName } from '../names/actor-name.tsx';
import { texts } from '../texts/texts.ts';
import { ArtifactLink } from './artifact-link.tsx';
import { INCOMPLETE_WORDS } from './incomplete-words.ts';
import { CALL_WORDS, STEP_WORDS, toneOf } from './run-words.ts';

export interface RunStepsProps {
  readonly steps: readonly AgentRunStep[];
  readonly actions: readonly AgentRunAction[];
}

/** The turns of a model, each with its calls. */
export function RunSteps({ steps, actions }: RunStepsProps) {
  return (
    <ol class="run-steps" aria-label={texts.runs.steps}>
      {steps.map((step) => (
        <li key={step.id} class="run-step">
          <StepHead step={step} />
          {step.failovers.map(({ provider, model, reason }, index) => (
            <p key={index} class="run-step-failover">
              {texts.runs.didNotFinish(model, provider, reason)}
            </p>
          ))}
          {step.text && <Markdown text={step.text} />}
          {step.incomplete && step.error_message === null && (
            <p class="run-problem">{INCOMPLETE_WORDS[step.incomplete]}</p>
          )}
          {step.error_message !== null && <p class="run-problem">{step.error_message}</p>}
          {actions
            .filter(({ step_id }) => step_id === step.id)
            .map((action) => (
              <Call key={action.id} action={action} />
            ))}
        </li>
      ))}
    </ol>
  );
}

function StepHead({ step }: { readonly step: AgentRunStep }) {
  const { position, status, provider, model, input_tokens, output_tokens, cost_usd } = step;
  const tokens =
    input_tokens === null || output_tokens === null ? null : texts.runs.tokens(input_tokens, output_tokens);
  const facts = [
    model === null || model === provider ? provider : `${model} (${provider})`,
    tokens,
    cost_usd === null ? null : costText(cost_usd),
    step.completed_at === null ? null : durationText(span(step.started_at, step.completed_at)),
  ];
  return (
    <header class="run-step-head">
      <strong>{texts.runs.step(position)}</strong>
      <span class={`run-tone run-tone-${toneOf(status)}`}>{STEP_WORDS[status]}</span>
      <small>{facts.filter((fact) => fact !== null).join(' · ')}</small>
    </header>
  );
}

function Call({ action }: { readonly action: AgentRunAction }) {
  const { tool, status, reviewed_by, reviewed_at, reason, result, error_message } = action;
  const isRejected = status === 'rejected';
  return (
    <details class="run-call">
      <summary>
        <code>{tool}</code> <span class={`run-tone run-tone-${toneOf(status)}`}>{CALL_WORDS[status]}</span>
      </summary>
      <h4>{texts.runs.arguments}</h4>
      <Json value={action.arguments} label={texts.runs.argumentsOf(tool)} />
      {reviewed_by !== null && (
        <p class="run-call-review" title={reviewed_at === null ? '' : fullTimeOf(reviewed_at)}>
          {(isRejected ? texts.runs.rejectedBy : texts.runs.approvedBy)(<ActorName id={reviewed_by} />)}
          {reason && `: ${reason}`}
        </p>
      )}
      {error_message !== null && <p class="run-problem">{error_message}</p>}
      {result !== null && (
        <>
          <h4>{texts.runs.result}</h4>
          <Json value={result} label={texts.runs.resultOf(tool)} />
        </>
      )}
      <ArtifactLink result={result} />
    </details>
  );
}

function span(from: string, to: string): number {
  return Date.parse(to) - Date.parse(from);
}
