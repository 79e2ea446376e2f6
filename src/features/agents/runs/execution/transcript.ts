import type { ActionRow } from '../../../../core/resources/run.ts';
import type { StoredCall } from '../../../../core/tables/agent-tables.ts';
import type { ToolResult, Turn } from '../../models/model.ts';
import type { RunRecord } from '../state/step-store.ts';

/**
 * Returns the run so far as models see it: each finished turn, then its calls' results. `refusal`
 * says why a call has no action: it named no tool of the agent, or has invalid arguments.
 */
export function transcriptOf(
  { steps, actions }: RunRecord,
  refusal: (call: StoredCall) => string,
): readonly Turn[] {
  const turns: Turn[] = [];
  for (const step of steps) {
    if (step.status !== 'completed') continue;
    turns.push({ role: 'assistant', text: step.text ?? '', calls: step.calls });
    if (step.calls.length === 0) continue;
    const results = step.calls.map((call, position): ToolResult => {
      const action = actions.find((it) => it.step_id === step.id && it.position === position);
      const of = { callId: call.id, name: call.name };
      if (action === undefined) return { ...of, output: { error: refusal(call) }, failed: true };
      return { ...of, ...outcomeOf(action) };
    });
    turns.push({ role: 'tool', results });
  }
  return turns;
}

function outcomeOf({ status, result, error_message, reason }: ActionRow) {
  switch (status) {
    case 'completed':
      return { output: result, failed: false };
    case 'rejected':
      return { output: { error: 'A person rejected this call.', reason }, failed: true };
    case 'expired':
      return { output: { error: 'This call was not approved in time.' }, failed: true };
    default:
      return { output: { error: error_message ?? 'It was not executed.' }, failed: true };
  }
}

/** Returns the size of the texts, the arguments and the results of a run. */
export function bytesOf({ steps, actions }: RunRecord): number {
  const written = steps.map(({ text, calls }) => [text, calls]);
  const read = actions.map(({ result, error_message }) => [result, error_message]);
  return Buffer.byteLength(JSON.stringify([written, read]));
}
