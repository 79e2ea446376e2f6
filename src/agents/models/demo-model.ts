import { setTimeout as pause } from 'node:timers/promises';
import type { Model, ModelPart, Prompt } from './model.ts';

/** What the demo model turns around at most: at 60 words a second three seconds of it are enough. */
const MOST_WORDS = 180;

/** Answers where no model is configured, so that agents can be tried out: the last thing said, backwards. */
export class DemoModel implements Model {
  readonly provider = 'demo';
  readonly model = 'demo';
  readonly contextTokens = 32_000;
  readonly #wordMs: number;

  constructor({ wordsPerSecond = 60 }: { readonly wordsPerSecond?: number } = {}) {
    this.#wordMs = 1_000 / wordsPerSecond;
  }

  async *stream({ turns }: Prompt, signal: AbortSignal): AsyncIterable<ModelPart> {
    const last = turns.findLast((turn) => turn.role === 'user');
    const words = answerTo(last?.text ?? '').split(' ');
    for (const [index, word] of words.entries()) {
      signal.throwIfAborted();
      if (index > 0) await pause(this.#wordMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      yield { type: 'text', text: index === 0 ? word : ` ${word}` };
    }
    yield { type: 'end', reason: 'stop', inputTokens: null, outputTokens: null, costUsd: 0 };
  }
}

function answerTo(turn: string): string {
  // Of a turn of several messages the last one, without its author's name: only these begin a line (history.ts).
  const message = turn.split(/\n(?=\S)/).at(-1) ?? '';
  const words = message
    .replace(/^[^\s:][^:\n]{0,99}: /, '')
    .split(/\s+/)
    .filter(Boolean);
  if (words.length === 0) return 'Demo model (no model is configured). You said nothing.';
  const backwards = words.slice(0, MOST_WORDS).reverse().join(' ');
  return `Demo model (no model is configured). You said, backwards: ${backwards}`;
}
