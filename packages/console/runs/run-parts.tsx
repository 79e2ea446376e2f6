import type { SentMessage } from '@parley/client';
import { useRun } from '@parley/client/react';
import { Button } from '@parley/ui/elements/button.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { failureText } from '@parley/ui/texts/failure-text.ts';
import { Bot, CircleStop } from 'lucide';
import { useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { RunLink } from './run-link.tsx';
import { useRunRights } from './run-rights.ts';
import { RunSteps } from './run-steps.tsx';

export interface RunPartsProps {
  readonly message: SentMessage;
  readonly runId: string;
  readonly conversationId: string;
}

/** The parts below a message that an agent has written: its steps, and a button to stop it. */
export function RunParts({ message, runId, conversationId }: RunPartsProps) {
  const { maySee, mayAct } = useRunRights(conversationId);
  if (!maySee) return null;
  return message.streaming_state === 'streaming' ? (
    <Writing runId={runId} hasText={(message.body ?? '') !== ''} mayStop={mayAct} />
  ) : (
    <Steps runId={runId} />
  );
}

interface WritingProps {
  readonly runId: string;
  readonly hasText: boolean;
  readonly mayStop: boolean;
}

function Writing({ runId, hasText, mayStop }: WritingProps) {
  const { live } = useRun(runId);
  const { isBusy, problem, run } = useAction();
  return (
    <div class="run-parts">
      <span class="run-parts-writing">
        <Icon of={Bot} size={16} /> {hasText ? texts.runs.writing : texts.runs.thinking}
      </span>
      {mayStop && (
        <Button
          look="plain"
          icon={CircleStop}
          disabled={isBusy || live === undefined}
          onClick={() => run(() => live!.cancel())}
        >
          {texts.runs.stop}
        </Button>
      )}
      <RunLink id={runId} />
      <Problem text={problem} />
    </div>
  );
}

/** The steps are read when they are opened. */
function Steps({ runId }: { readonly runId: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="run-parts-steps" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon of={Bot} size={16} /> {texts.runs.steps}
      </summary>
      {isOpen && <OpenSteps runId={runId} />}
    </details>
  );
}

function OpenSteps({ runId }: { readonly runId: string }) {
  const { run, steps, actions, error, status } = useRun(runId);
  if (run === null) return <p>{status === 'error' ? error && failureText(error) : texts.runs.loading}</p>;
  return (
    <>
      <RunSteps steps={steps} actions={actions} />
      {run.error_message !== null && <p class="run-problem">{run.error_message}</p>}
      <RunLink id={runId} />
    </>
  );
}
