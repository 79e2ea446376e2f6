import type { AgentRunAction } from '@parley/protocol/resources/agent-run.ts';
import type { RunSnapshot } from '../runs/run-snapshot.ts';

/** A turn of the model as a chat shows it: its text, then the calls that it asked for. */
export interface ShownStep {
  readonly text: string;
  readonly calls: readonly AgentRunAction[];
}

/**
 * Returns the turns of a run. Finished turns have the texts of their steps. The rest of the run's
 * message belongs to the turn that is being written.
 */
export function shownSteps({
  steps,
  actions,
  text: body,
}: Pick<RunSnapshot, 'steps' | 'actions' | 'text'>): ShownStep[] {
  const finished = steps.filter(({ status }) => status === 'completed');
  const shown = finished.map(({ id, text }) => ({
    text: text ?? '',
    calls: actions.filter(({ step_id }) => step_id === id),
  }));
  const [open] = steps.filter(({ status }) => status !== 'completed');
  const text = textBeyond(body, shown) || (open?.text ?? '');
  return open === undefined && text === '' ? shown : [...shown, { text, calls: [] }];
}

/**
 * Returns the part of the message's text that is in no finished turn. A message has only the turns
 * since the last pause; a draft has the earlier turns too.
 */
function textBeyond(body: string, finished: readonly ShownStep[]): string {
  const claims: ShownStep[][] = [[]];
  for (const step of finished) {
    claims.at(-1)?.push(step);
    if (step.calls.some(({ expires_at }) => expires_at !== null)) claims.push([]);
  }
  const current = joined(claims.at(-1) ?? []);
  // Until a word follows the pause, the text is from before the pause.
  const isFromBefore = claims.slice(0, -1).some((claim) => joined(claim).startsWith(body));
  if (current === '' && isFromBefore) return '';
  for (const said of [joined(finished), current]) {
    if (said === '') return body;
    if (body.startsWith(`${said}${BLANK_LINE}`)) return body.slice(said.length + BLANK_LINE.length);
  }
  return '';
}

function joined(steps: readonly ShownStep[]): string {
  return steps.flatMap(({ text }) => (text === '' ? [] : [text])).join(BLANK_LINE);
}

/** Separates the texts of two turns in a message. */
const BLANK_LINE = '\n\n';
