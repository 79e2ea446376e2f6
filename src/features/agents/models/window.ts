import type { Prompt, ToolCall, ToolResult, Turn } from './model.ts';
import { cutText } from './text-cleaner.ts';

/** Tokens of a window that are reserved for the answer. */
const ANSWER_TOKENS = 4_000;

/** Minimum for the transcript in a full window: enough to see how the last calls ended. */
const LEAST_TOKENS = 1_000;

/** Returns how many of `contextTokens` a run may add to the prompt that it began with. */
export function roomBehind({ instructions, turns, tools }: Prompt, contextTokens: number): number {
  const taken = tokensOf(instructions) + tokensOf(JSON.stringify(turns)) + tokensOfTools(tools);
  return Math.max(contextTokens - taken - ANSWER_TOKENS, LEAST_TOKENS);
}

/** Returns the tokens of the tools, which are part of every prompt. */
export function tokensOfTools(tools: Prompt['tools']): number {
  return tokensOf(JSON.stringify(tools));
}

/**
 * Fits a run's transcript into `tokens`. The newest turn stays whole; turns that do not fit are
 * cut, oldest first. No turn is left out: each call keeps its result.
 */
export function fitTurns(turns: readonly Turn[], tokens: number): readonly Turn[] {
  let left = tokens;
  const fit = (text: string): string => {
    const fitting = cutToTokens(text, left);
    left -= tokensOf(fitting);
    return fitting;
  };
  return turns
    .toReversed()
    .map((turn) => fitTurn(turn, fit))
    .reverse();
}

function fitTurn(turn: Turn, fit: (text: string) => string): Turn {
  switch (turn.role) {
    case 'user':
      return { ...turn, text: fit(turn.text) };
    case 'assistant':
      return { ...turn, calls: turn.calls.map((call) => fitCall(call, fit)), text: fit(turn.text) };
    case 'tool':
      return { ...turn, results: turn.results.map((result) => fitResult(result, fit)) };
  }
}

/** Replaces arguments as a whole, because truncated arguments would not be JSON. */
function fitCall(call: ToolCall, fit: (text: string) => string): ToolCall {
  return { ...call, arguments: fit(call.arguments) === call.arguments ? call.arguments : '{}' };
}

function fitResult(result: ToolResult, fit: (text: string) => string): ToolResult {
  const { output } = result;
  return { ...result, output: fit(typeof output === 'string' ? output : JSON.stringify(output ?? null)) };
}

/** Right for English, and a safe estimate for scripts with several bytes a character. */
const BYTES_PER_TOKEN = 3.5;

/** Returns the approximate number of tokens of a text. */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** Returns at most `tokens` tokens of the text, with a mark if it was cut. */
export function cutToTokens(text: string, tokens: number): string {
  const bytes = Buffer.byteLength(text);
  const most = Math.floor(Math.max(tokens, 0) * BYTES_PER_TOKEN);
  return bytes <= most ? text : `${cutText(text, Math.floor((text.length * most) / bytes))} [cut]`;
}
