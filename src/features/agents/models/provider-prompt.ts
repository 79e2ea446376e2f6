import { childTrace, formatTraceparent } from '@parley/protocol/traceparent.ts';
import { parseObject } from '@parley/protocol/validation/validation.ts';
import type { LanguageModel } from 'ai';
import type { Prompt, ToolResult, Turn } from './model.ts';

/** A model of the SDK's providers, called through their own interface. */
export type ProviderModel = Extract<LanguageModel, { specificationVersion: 'v4' }>;

type CallOptions = Parameters<ProviderModel['doStream']>[0];
type Message = CallOptions['prompt'][number];
type FunctionTool = Extract<NonNullable<CallOptions['tools']>[number], { type: 'function' }>;
type Output = Extract<
  Extract<Message, { role: 'tool' }>['content'][number],
  { type: 'tool-result' }
>['output'];

/** Converts a prompt to the call options of the SDK's providers. */
export function toCallOptions(
  { instructions, turns, tools, temperature, trace }: Prompt,
  signal: AbortSignal,
): CallOptions {
  return {
    prompt: [{ role: 'system', content: instructions }, ...turns.flatMap(toMessage)],
    abortSignal: signal,
    ...(trace && { headers: { traceparent: formatTraceparent(childTrace(trace)) } }),
    ...(temperature === null ? {} : { temperature }),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, parameters }): FunctionTool => {
            return { type: 'function', name, description, inputSchema: { ...parameters } };
          }),
        }),
    // The history is stored by us, not by the vendor.
    providerOptions: { openai: { store: false } },
  };
}

function toMessage(turn: Turn): Message[] {
  switch (turn.role) {
    case 'user':
      return [{ role: 'user', content: [{ type: 'text', text: turn.text }] }];
    case 'assistant': {
      const text = turn.text === '' ? [] : [{ type: 'text' as const, text: turn.text }];
      const calls = turn.calls.map((call) => ({
        type: 'tool-call' as const,
        toolCallId: call.id,
        toolName: call.name,
        input: parsedArguments(call.arguments),
      }));
      return text.length + calls.length === 0 ? [] : [{ role: 'assistant', content: [...text, ...calls] }];
    }
    case 'tool':
      return [
        {
          role: 'tool',
          content: turn.results.map((result) => ({
            type: 'tool-result' as const,
            toolCallId: result.callId,
            toolName: result.name,
            output: toOutput(result),
          })),
        },
      ];
  }
}

/** Returns {} for invalid arguments: providers need an object. The call's result has the error. */
function parsedArguments(text: string): object {
  try {
    return parseObject(text, true);
  } catch {
    return {};
  }
}

/** Converts an output of any shape to text, which every provider accepts. */
function toOutput({ output, failed }: ToolResult): Output {
  const value = typeof output === 'string' ? output : JSON.stringify(output ?? null);
  return { type: failed ? 'error-text' : 'text', value };
}
