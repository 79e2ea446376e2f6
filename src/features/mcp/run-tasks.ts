import type { CallToolResult, JSONObject, Result } from '@modelcontextprotocol/server';
import type { AgentRun, AgentRunAction } from '@parley/protocol/resources/agent-run.ts';
import type { Called, CallOptions, EndpointCalls } from './endpoint-calls.ts';

/** The extension that clients declare in each request in which they take a task for an answer. */
export const TASKS = 'io.modelcontextprotocol/tasks';

/** The endpoint whose tool answers with a task. */
export const STARTS_RUN = 'trigger_agent_run';

/** Milliseconds between two looks at a task: most runs take some seconds. */
const POLL_MS = 1_000;

/** The task of a run that was just committed: any node finds it by its id. */
export function newTask({ value }: Called): CallToolResult {
  return { ...taskOf(value as unknown as AgentRun), resultType: 'task', content: [] } as CallToolResult;
}

/** Returns a run as a task. Rejects like `EndpointCalls.call`. */
export async function getTask(
  calls: EndpointCalls,
  taskId: string,
  options: CallOptions,
  asks: boolean,
): Promise<Result> {
  const { text, value } = await readRun(calls, taskId, options);
  const run = value as unknown as AgentRun;
  const task = taskOf(run);
  switch (task.status) {
    case 'input_required':
      return { ...task, inputRequests: asks ? inputRequestsOf(run) : {} };
    case 'completed':
      return { ...task, result: { ...resultOf(text, value), isError: run.status === 'failed' } };
    default:
      return task;
  }
}

/**
 * Decides about calls that wait. Answers to other calls are ignored, as the extension asks.
 * Rejects like `EndpointCalls.call`.
 */
export async function updateTask(
  calls: EndpointCalls,
  taskId: string,
  responses: Readonly<Record<string, unknown>>,
  options: CallOptions,
): Promise<void> {
  const { value } = await readRun(calls, taskId, options);
  const decisions = waitingCalls(value as unknown as AgentRun).flatMap(({ id }) => {
    const decision = decisionIn(responses[id]);
    return decision === undefined ? [] : [{ action_id: id, ...decision }];
  });
  if (decisions.length === 0) return;
  await calls.callNamed('continue_agent_run', { path: { id: taskId }, body: { decisions } }, options);
}

/** Rejects like `EndpointCalls.call`. */
export async function cancelTask(calls: EndpointCalls, taskId: string, options: CallOptions): Promise<void> {
  await calls.callNamed('cancel_agent_run', { path: { id: taskId } }, options);
}

async function readRun(calls: EndpointCalls, id: string, options: CallOptions): Promise<Called> {
  const query = { include: ['actions'] };
  return (await calls.callNamed('get_agent_run', { path: { id }, query }, options))!;
}

function taskOf({ id, status, error_message, created_at, updated_at }: AgentRun) {
  return {
    taskId: id,
    status: STATUSES[status],
    ...(error_message !== null && { statusMessage: error_message }),
    createdAt: created_at,
    lastUpdatedAt: updated_at,
    // A run stays as long as its account keeps runs.
    ttlMs: null,
    pollIntervalMs: POLL_MS,
  };
}

/**
 * A run that failed is a tool call that completed with an error: `failed` is for the protocol's.
 */
const STATUSES: Readonly<Record<AgentRun['status'], string>> = {
  pending: 'working',
  running: 'working',
  awaiting_approval: 'input_required',
  awaiting_input: 'input_required',
  completed: 'completed',
  failed: 'completed',
  cancelled: 'cancelled',
};

export function resultOf(text: string, value: Called['value']): CallToolResult {
  return { content: [{ type: 'text', text }], structuredContent: value };
}

/**
 * Asks for decisions about the calls that can be shown as a whole: an approval is for what was
 * shown. Questions of agents to people belong here, beside the approvals.
 */
function inputRequestsOf(run: AgentRun): JSONObject {
  const shown = waitingCalls(run).map((call): [string, string] => [call.id, questionOf(call)]);
  return Object.fromEntries(
    shown
      .filter(([, message]) => message.length <= MESSAGE_CHARACTERS)
      .map(([id, message]) => [id, { method: 'elicitation/create', params: formOf(message) }]),
  );
}

function waitingCalls({ actions }: AgentRun): readonly AgentRunAction[] {
  return (actions ?? []).filter(({ status }) => status === 'pending_review');
}

function questionOf({ tool, arguments: args }: AgentRunAction): string {
  return `The agent wants to call ${tool} with these arguments: ${JSON.stringify(args)}`;
}

function formOf(message: string): JSONObject {
  return { mode: 'form', message, requestedSchema: DECISION };
}

/** A person reads that much before a decision; continue-agent-run and the console take all. */
const MESSAGE_CHARACTERS = 4_000;

const DECISION: JSONObject = {
  type: 'object',
  properties: {
    decision: { type: 'string', title: 'Decision', enum: ['approve', 'reject'] },
    reason: { type: 'string', title: 'Reason', maxLength: 500 },
  },
  required: ['decision'],
};

/** A person that declines rejects the call; one that cancels has not decided. */
function decisionIn(response: unknown): { approve: boolean; reason?: string } | undefined {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: unknown };
  if (action === 'decline') return { approve: false };
  if (action !== 'accept') return undefined;
  const { decision, reason } = (content ?? {}) as { decision?: unknown; reason?: unknown };
  if (decision !== 'approve' && decision !== 'reject') return undefined;
  return { approve: decision === 'approve', ...(typeof reason === 'string' && reason !== '' && { reason }) };
}
