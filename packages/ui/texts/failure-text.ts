import { type UiTexts, uiTexts } from './ui-texts.ts';

/**
 * Returns why something has failed: words of the page for the code of the error, where its language
 * has some, else the message of the error. Takes what was thrown, or the error of an answer.
 */
export function failureText(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return String(error);
  const message = String(error.message);
  const words = 'code' in error ? failures()?.[String(error.code)] : undefined;
  return words?.(message) ?? message;
}

/** Absent in the widget, which has no such words, and before a page has loaded its own. */
function failures(): UiTexts['feedback']['failures'] | undefined {
  const { feedback }: Partial<UiTexts> = uiTexts;
  return feedback?.failures;
}
