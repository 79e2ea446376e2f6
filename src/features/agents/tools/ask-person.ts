import { QUESTION_LIMITS, QuestionInput } from '@parley/protocol/resources/question.ts';
import { type EndpointCaller, plain } from '../../../core/endpoint-tools/endpoint-call.ts';
import type { AttachedTool } from '../../../core/tables/agent-tables.ts';
import { builtInTool } from './built-in-tool.ts';
import { refusalIn } from './endpoint-tool.ts';
import { type RunTool, ToolRefusal } from './tool.ts';

/**
 * Returns the tool that asks the people of a conversation, as a message of the agent. The run waits
 * for the end of the question without a node (runs/state/answers.ts), and the end is the output:
 * `{message_id, status, by, option, values}`. The message has the id of the action, so a repetition
 * finds it. A customer is not asked: in a case it is a note to the team.
 */
export function askPersonTool(attached: AttachedTool, caller: EndpointCaller): RunTool {
  return builtInTool(attached, {
    parameters: PARAMETERS,
    async call(args, { actionId, conversationId, principal, runId, trace, signal }) {
      const { conversation_id: place = conversationId, hours = DEFAULT_HOURS, ...asked } = args as Arguments;
      if (place === null) {
        throw new ToolRefusal('missing_field', 'conversation_id: The run has no conversation. Name one.');
      }
      const question = { ...asked, expires_at: new Date(Date.now() + hours * HOUR_MS).toISOString() };
      const request = {
        route: SEND,
        path: `/v1/messaging/conversations/${encodeURIComponent(place)}/messages`,
        query: '',
        body: JSON.stringify({ client_message_id: actionId, question }),
        principal,
        idempotencyKey: actionId,
        runId,
        trace,
      };
      const { status, text } = await caller.call(request, signal);
      if (status >= 400) throw refusalIn(text);
      return { output: null, awaits: (JSON.parse(text) as { id: string }).id };
    },
  });
}

const SEND = { name: 'send_message', method: 'POST', since: '1.5.harbor-preview.1' } as const;
const HOUR_MS = 60 * 60 * 1_000;
const DEFAULT_HOURS = 24;

/** The shape that the parameters accept. */
type Arguments = Pick<QuestionInput, 'text' | 'type' | 'options' | 'fields' | 'actor_ids'> & {
  readonly conversation_id?: string;
  readonly hours?: number;
};

const { text, type, options, fields, actor_ids } = QuestionInput.properties;

const PARAMETERS = plain({
  type: 'object',
  properties: {
    text,
    type,
    options,
    fields,
    actor_ids,
    hours: {
      type: 'integer',
      minimum: 1,
      maximum: QUESTION_LIMITS.defaultHours,
      default: DEFAULT_HOURS,
      description: 'How long the question is open.',
    },
    conversation_id: {
      type: 'string',
      pattern: '^cnv_',
      maxLength: 64,
      description: 'Where it is asked. Default: the conversation of the run.',
    },
  },
  required: ['text', 'type'],
  additionalProperties: false,
});
