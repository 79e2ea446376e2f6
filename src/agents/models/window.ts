import type { Prompt, ToolCall, ToolResult, Turn } from './model.ts';
import { cutToTokens, tokensOf } from './tokens.ts';

/** What of a window is kept for the answer. */
const ANSWER_TOKENS = 4_000;

/** However much else there is: enough to see how the last calls went. */
const LEAST_TOKENS = 1_000;

/** Tokens that a run may add to the prompt that it began with, in a window of so many. */
export function roomBehind({ instructions, turns, tools }: Prompt, contextTokens: number): number {
  const taken = tokensOf(instructions) + tokensOf(JSON.stringify(turns)) + tokensOfTools(tools);
  return Math.max(contextTokens - taken - ANSWER_TOKENS, LEAST_TOKENS);
}

/** They stand in every prompt. */
export function tokensOfTools(tools: Prompt['tools']): number {
  return tokensOf(JSON.stringify(tools));
}

/**
 * What a run has said and learned, within so many tokens: the newest is whole, and what it leaves no room for is cut,
 * the oldest first. No turn is left out: each call has its result behind it.
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

/** Half of its arguments would not be JSON any more. */
function fitCall(call: ToolCall, fit: (text: string) => string): ToolCall {
  return { ...call, arguments: fit(call.arguments) === call.arguments ? call.arguments : '{}' };
}

function fitResult(result: ToolResult, fit: (text: string) => string): ToolResult {
  const { output } = result;
  return { ...result, output: fit(typeof output === 'string' ? output : JSON.stringify(output ?? null)) };
}
