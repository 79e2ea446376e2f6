import { setTimeout as pause } from 'node:timers/promises';
import type { Model, ModelPart, Prompt, ToolCall, ToolResult, Turn } from './model.ts';

/** Most words to reverse: at 60 words a second, three seconds are enough for a demo. */
const MAX_WORDS = 180;

/**
 * The model used when none is configured, so that agents can be tried out. It returns the last
 * message with its words reversed. Asked to "create a summary", it calls `create_artifact` with the
 * conversation so far, if the agent has that tool.
 */
export class DemoModel implements Model {
  readonly provider = 'demo';
  readonly model = 'demo';
  readonly contextTokens = 32_000;
  readonly #wordMs: number;

  constructor({ wordsPerSecond = 60 }: { readonly wordsPerSecond?: number } = {}) {
    this.#wordMs = 1_000 / wordsPerSecond;
  }

  async *stream(prompt: Prompt, signal: AbortSignal): AsyncIterable<ModelPart> {
    signal.throwIfAborted();
    const call = summaryCall(prompt);
    if (call !== undefined) {
      yield { type: 'call', call };
      yield { type: 'end', reason: 'calls', ...UNCOUNTED };
      return;
    }
    const words = answerTo(prompt.turns).split(' ');
    for (const [index, word] of words.entries()) {
      signal.throwIfAborted();
      if (index > 0) await pause(this.#wordMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      yield { type: 'text', text: index === 0 ? word : ` ${word}` };
    }
    yield { type: 'end', reason: 'stop', ...UNCOUNTED };
  }
}

const UNCOUNTED = { inputTokens: null, outputTokens: null, costUsd: 0 } as const;

/** Returns undefined unless a user's last turn asks for a summary and the tool is available. */
function summaryCall({ turns, tools }: Prompt): ToolCall | undefined {
  const last = turns.at(-1);
  const isAsked = last?.role === 'user' && /\bcreate a summary\b/i.test(lastMessage(last.text));
  if (!isAsked || !tools.some(({ name }) => name === 'create_artifact')) return undefined;
  const texts = turns.flatMap((turn) => (turn.role === 'tool' || turn.text === '' ? [] : [turn.text]));
  const content = `# Summary\n\n${texts.join('\n').slice(-SUMMARY_CHARACTERS)}\n`;
  const args = { filename: 'summary.md', content_type: 'text/markdown', content };
  return { id: 'summary', name: 'create_artifact', arguments: JSON.stringify(args) };
}

const SUMMARY_CHARACTERS = 2_000;

function answerTo(turns: readonly Turn[]): string {
  const last = turns.at(-1);
  if (last?.role === 'tool') return `Demo model. ${last.results.map(outcomeOf).join(' ')}`;
  const lastText = turns.findLast((turn) => turn.role === 'user')?.text ?? '';
  const words = lastMessage(lastText).split(/\s+/).filter(Boolean);
  if (words.length === 0) return 'Demo model (no model is configured). You said nothing.';
  const backwards = words.slice(0, MAX_WORDS).reverse().join(' ');
  return `Demo model (no model is configured). You said, backwards: ${backwards}`;
}

function outcomeOf({ name, failed }: ToolResult): string {
  return failed ? `The call of ${name} was not carried out.` : `The call of ${name} was carried out.`;
}

/** Returns a turn's last message without its author: only names begin a line (history.ts). */
function lastMessage(turn: string): string {
  const message = turn.split(/\n(?=\S)/).at(-1) ?? '';
  return message.replace(/^[^\s:][^:\n]{0,99}: /, '');
}
